-- What imports of evaluation tools' logs must remember.

-- Answers to what a tool's logs leave open, and the task whose ids are bare.
CREATE TABLE verdict_rule (
    benchmark_id INTEGER NOT NULL,
    harness VARCHAR NOT NULL,
    field VARCHAR NOT NULL,
    answer VARCHAR NOT NULL,
    decided_at TIMESTAMPTZ NOT NULL
);

-- A run and its retries share an identity of the tool; retries extend the run.
CREATE TABLE run_lineage (
    benchmark_id INTEGER NOT NULL,
    lineage VARCHAR NOT NULL,
    run_key VARCHAR NOT NULL,
    UNIQUE (benchmark_id, lineage)
);

-- What a tool calls a question where that differs from its key: a position, a node id.
CREATE TABLE question_locator (
    benchmark_id INTEGER NOT NULL,
    harness VARCHAR NOT NULL,
    question_key VARCHAR NOT NULL,
    locator VARCHAR NOT NULL,
    logged_at TIMESTAMPTZ NOT NULL
);
