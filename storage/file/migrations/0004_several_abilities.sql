-- The multidimensional 2PL model of a night, beside its Rasch model. A night with too
-- few runs for it has no row here, and says so in the ledger.

CREATE TABLE mirt_calibration (
    calibration_id INTEGER NOT NULL,
    n_dimensions INTEGER NOT NULL,
    model_fingerprint VARCHAR NOT NULL,
    discrimination_sd DOUBLE NOT NULL,
    prior_mean DOUBLE[] NOT NULL,
    prior_precision DOUBLE NOT NULL,
    log_posterior DOUBLE NOT NULL,
    log_likelihood DOUBLE NOT NULL,
    held_out_log_likelihood DOUBLE,
    converged BOOLEAN NOT NULL,
    n_iterations INTEGER NOT NULL
);

CREATE TABLE mirt_item_parameter (
    calibration_id INTEGER NOT NULL,
    question_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    difficulty DOUBLE NOT NULL,
    discrimination DOUBLE[] NOT NULL,
    n_responses INTEGER NOT NULL
);

CREATE TABLE mirt_run_ability (
    calibration_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    ability DOUBLE[] NOT NULL
);
