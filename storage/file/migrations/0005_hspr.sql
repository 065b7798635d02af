-- HSPR's fitted sources and configuration of a night, the posterior of a score, and
-- adaptive sessions. A night with too few runs for HSPR has no row here.

-- `configuration` is JSON; an infinite kappa is the text "inf" in it. `source_scores` are
-- those of every run the parameters were fitted on, of which `hspr_source` are some.
CREATE TABLE hspr_calibration (
    calibration_id INTEGER NOT NULL,
    model_fingerprint VARCHAR NOT NULL,
    configuration VARCHAR NOT NULL,
    zero_mass DOUBLE NOT NULL,
    alpha DOUBLE NOT NULL,
    beta DOUBLE NOT NULL,
    trial_correlation DOUBLE NOT NULL,
    source_scores DOUBLE[] NOT NULL
);

CREATE TABLE hspr_group (
    calibration_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    intercept DOUBLE NOT NULL,
    slope DOUBLE NOT NULL,
    directions DOUBLE[] NOT NULL,
    source_zero BOOLEAN NOT NULL
);

CREATE TABLE hspr_question (
    calibration_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    group_position INTEGER NOT NULL
);

CREATE TABLE hspr_source (
    calibration_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL
);

-- Of methods that have a posterior of the score, and of HSPR (JSON).
ALTER TABLE estimate ADD COLUMN score_values DOUBLE[];
ALTER TABLE estimate ADD COLUMN score_pmf DOUBLE[];
ALTER TABLE estimate ADD COLUMN hspr_diagnostics VARCHAR;

CREATE TABLE adaptive_session (
    session_id VARCHAR NOT NULL UNIQUE,
    benchmark_id INTEGER NOT NULL,
    bank_id INTEGER NOT NULL,
    agent_family VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    calibration_id INTEGER NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    run_id INTEGER
);

-- Without trials the verdict is missing, for the reason.
CREATE TABLE adaptive_step (
    session_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    passes INTEGER NOT NULL,
    trials INTEGER NOT NULL,
    reason VARCHAR,
    told_at TIMESTAMPTZ NOT NULL
);
