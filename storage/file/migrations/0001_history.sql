-- The history of verdicts and what was derived from it.
-- Ids are integers given out by the writer; times are UTC. There are no foreign
-- keys (DuckDB then refuses to alter tables) and `verdict` has no key or index
-- (loading is ten times slower with one); the writer rejects duplicates.

CREATE TABLE benchmark (
    benchmark_id INTEGER NOT NULL,
    name VARCHAR NOT NULL UNIQUE,
    current_bank_id INTEGER,
    created_at TIMESTAMPTZ NOT NULL
);

-- A question whose content changed is a new question. An empty hash is unknown content.
CREATE TABLE question (
    question_id INTEGER NOT NULL,
    benchmark_id INTEGER NOT NULL,
    question_key VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    UNIQUE (benchmark_id, question_key, content_hash)
);

CREATE TABLE bank (
    bank_id INTEGER NOT NULL,
    benchmark_id INTEGER NOT NULL,
    version VARCHAR NOT NULL,
    n_questions INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    UNIQUE (benchmark_id, version)
);

-- The hash is the one of this version: a question first seen without content keeps its row.
CREATE TABLE bank_question (
    bank_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    question_key VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL
);

-- n_valid counts questions with a valid verdict, n_missing verdicts without an
-- outcome; pass_rate is the mean over valid questions of passes/trials.
CREATE TABLE run (
    run_id INTEGER NOT NULL,
    benchmark_id INTEGER NOT NULL,
    run_key VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    agent_config VARCHAR NOT NULL,
    agent_family VARCHAR NOT NULL,
    purpose VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    bank_id INTEGER NOT NULL,
    subset_id VARCHAR,
    session_id VARCHAR,
    started_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    imported_at TIMESTAMPTZ NOT NULL,
    harness VARCHAR NOT NULL,
    tags VARCHAR[] NOT NULL,
    file_hash VARCHAR,
    n_verdicts INTEGER NOT NULL,
    n_valid INTEGER NOT NULL,
    n_missing INTEGER NOT NULL,
    pass_rate DOUBLE,
    checksum VARCHAR NOT NULL,
    UNIQUE (benchmark_id, run_key)
);

CREATE TABLE verdict (
    run_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    trial SMALLINT NOT NULL,
    passed TINYINT,
    reason VARCHAR,
    duration_s DOUBLE,
    cost DOUBLE
);

-- Verdicts that a later import of the same run replaced; revision 1 is the first to go.
CREATE TABLE verdict_revision (
    run_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    trial SMALLINT NOT NULL,
    passed TINYINT,
    reason VARCHAR,
    duration_s DOUBLE,
    cost DOUBLE,
    revision INTEGER NOT NULL,
    replaced_at TIMESTAMPTZ NOT NULL
);

-- One per (benchmark, bank, family, date) is current; refits supersede, nothing is deleted.
CREATE TABLE calibration (
    calibration_id INTEGER NOT NULL,
    benchmark_id INTEGER NOT NULL,
    bank_id INTEGER NOT NULL,
    agent_family VARCHAR NOT NULL,
    calibration_date DATE NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    superseded_at TIMESTAMPTZ,
    data_end TIMESTAMPTZ NOT NULL,
    n_runs INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    model_fingerprint VARCHAR NOT NULL,
    prior_mean DOUBLE NOT NULL,
    prior_precision DOUBLE NOT NULL,
    log_posterior DOUBLE NOT NULL,
    log_likelihood DOUBLE NOT NULL,
    held_out_log_likelihood DOUBLE,
    converged BOOLEAN NOT NULL,
    n_iterations INTEGER NOT NULL,
    gpirt_outcome_variance DOUBLE,
    gpirt_irt_bias DOUBLE,
    settings VARCHAR NOT NULL
);

CREATE TABLE item_parameter (
    calibration_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    difficulty DOUBLE NOT NULL,
    n_responses INTEGER NOT NULL
);

CREATE TABLE run_ability (
    calibration_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    ability DOUBLE NOT NULL
);

-- Errors of replayed estimates of later runs, which scale the intervals.
CREATE TABLE replay_residual (
    calibration_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    method VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    estimate DOUBLE NOT NULL,
    full_pass_rate DOUBLE NOT NULL,
    error DOUBLE NOT NULL,
    model_sd DOUBLE NOT NULL
);

CREATE TABLE subset (
    subset_id VARCHAR NOT NULL UNIQUE,
    benchmark_id INTEGER NOT NULL,
    bank_id INTEGER NOT NULL,
    agent_family VARCHAR NOT NULL,
    design VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    sha256 VARCHAR NOT NULL,
    model_fingerprint VARCHAR NOT NULL,
    calibration_id INTEGER,
    published_at TIMESTAMPTZ NOT NULL,
    active BOOLEAN NOT NULL,
    retired_at TIMESTAMPTZ
);

CREATE TABLE subset_question (
    subset_id VARCHAR NOT NULL,
    question_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    weight DOUBLE NOT NULL
);

-- The cache as it stood on a day: verdict counts of the window before it.
CREATE TABLE cache (
    cache_id INTEGER NOT NULL,
    benchmark_id INTEGER NOT NULL,
    agent_family VARCHAR NOT NULL,
    cache_date DATE NOT NULL,
    epsilon DOUBLE NOT NULL,
    min_trials INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE cache_entry (
    cache_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    n_passes INTEGER NOT NULL,
    n_trials INTEGER NOT NULL,
    cached BOOLEAN NOT NULL
);

CREATE TABLE estimate (
    estimate_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    method VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    subset_id VARCHAR,
    calibration_id INTEGER,
    created_at TIMESTAMPTZ NOT NULL,
    pass_rate DOUBLE NOT NULL,
    low DOUBLE NOT NULL,
    high DOUBLE NOT NULL,
    rerun_low DOUBLE NOT NULL,
    rerun_high DOUBLE NOT NULL,
    level DOUBLE NOT NULL,
    n_asked INTEGER NOT NULL,
    n_valid INTEGER NOT NULL,
    n_reused INTEGER NOT NULL,
    theta DOUBLE[],
    theta_covariance DOUBLE[],
    theta_n_observed INTEGER,
    model_fingerprint VARCHAR NOT NULL,
    flags VARCHAR[] NOT NULL
);

CREATE TABLE full_run_check (
    run_id INTEGER NOT NULL,
    method VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    subset_id VARCHAR,
    calibration_id INTEGER,
    estimate DOUBLE NOT NULL,
    low DOUBLE NOT NULL,
    high DOUBLE NOT NULL,
    full_pass_rate DOUBLE NOT NULL,
    error_pp DOUBLE NOT NULL,
    covered BOOLEAN NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE alert (
    alert_id INTEGER NOT NULL,
    benchmark_id INTEGER NOT NULL,
    agent_family VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    acknowledged_at TIMESTAMPTZ,
    resolved_at TIMESTAMPTZ
);

-- Every attempt of a job, by (job, benchmark, family, date).
CREATE TABLE job_run (
    job_run_id INTEGER NOT NULL,
    job VARCHAR NOT NULL,
    benchmark VARCHAR NOT NULL,
    agent_family VARCHAR NOT NULL,
    job_date DATE NOT NULL,
    attempt INTEGER NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    status VARCHAR NOT NULL,
    message VARCHAR NOT NULL
);
