-- Leases and retries of jobs, the chain of commits, and verdicts kept in files.

ALTER TABLE job_run ADD COLUMN owner VARCHAR;
ALTER TABLE job_run ADD COLUMN lease_expires_at TIMESTAMPTZ;
ALTER TABLE job_run ADD COLUMN retry_at TIMESTAMPTZ;

CREATE TABLE heartbeat (
    process VARCHAR NOT NULL,
    beat_at TIMESTAMPTZ NOT NULL
);

-- One row per commit. `chain` hashes the former chain with `digest`, which covers what
-- was written, and with `row_counts`, the rows of every table afterwards as JSON.
CREATE TABLE commit_log (
    sequence BIGINT NOT NULL,
    chain VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    row_counts VARCHAR NOT NULL
);

-- Commits that were lost and given up, with the reason.
CREATE TABLE accepted_loss (
    accepted_at TIMESTAMPTZ NOT NULL,
    reason VARCHAR NOT NULL,
    lost VARCHAR NOT NULL,
    expected_sequence BIGINT NOT NULL,
    found_sequence BIGINT NOT NULL
);

-- Parquet files beside the history that hold the verdicts of old runs.
CREATE TABLE archive (
    archive_id INTEGER NOT NULL,
    file_name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    n_runs INTEGER NOT NULL,
    n_verdicts BIGINT NOT NULL,
    n_bytes BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE archived_run (
    run_id INTEGER NOT NULL,
    archive_id INTEGER NOT NULL
);

-- Large files, so that importing one again need not read it. The fingerprint covers the
-- bytes and the options they were read with.
CREATE TABLE imported_file (
    fingerprint VARCHAR NOT NULL,
    file_hash VARCHAR NOT NULL,
    n_runs INTEGER NOT NULL,
    n_verdicts BIGINT NOT NULL,
    imported_at TIMESTAMPTZ NOT NULL
);
