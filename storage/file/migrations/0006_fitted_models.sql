-- Fitted models of a calibration beside its Rasch model, each taken apart into named arrays by
-- the method that knows it. A model of a new kind needs no table of its own.

-- Row by row in `numbers` or `texts`; `shape` is empty for a single value.
CREATE TABLE fitted_array (
    calibration_id INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    shape INTEGER[] NOT NULL,
    numbers DOUBLE[],
    texts VARCHAR[]
);

INSERT INTO fitted_array
SELECT calibration_id, 'gpirt', 'constants', [2], [gpirt_outcome_variance, gpirt_irt_bias], NULL
FROM calibration WHERE gpirt_outcome_variance IS NOT NULL AND gpirt_irt_bias IS NOT NULL;

-- Questions go in the order of the Rasch model's.
INSERT INTO fitted_array
SELECT m.calibration_id, 'mirt', 'difficulty', [count(*)::INTEGER],
       list(m.difficulty ORDER BY i.position), NULL
FROM mirt_item_parameter AS m JOIN item_parameter AS i USING (calibration_id, question_id)
GROUP BY m.calibration_id;

INSERT INTO fitted_array
SELECT m.calibration_id, 'mirt', 'discrimination', [count(*)::INTEGER, any_value(len(discrimination))::INTEGER],
       flatten(list(m.discrimination ORDER BY i.position)), NULL
FROM mirt_item_parameter AS m JOIN item_parameter AS i USING (calibration_id, question_id)
GROUP BY m.calibration_id;

INSERT INTO fitted_array
SELECT m.calibration_id, 'mirt', 'n_responses', [count(*)::INTEGER],
       list(m.n_responses::DOUBLE ORDER BY i.position), NULL
FROM mirt_item_parameter AS m JOIN item_parameter AS i USING (calibration_id, question_id)
GROUP BY m.calibration_id;

INSERT INTO fitted_array
SELECT calibration_id, 'mirt', 'ability', [count(*)::INTEGER, any_value(len(ability))::INTEGER],
       flatten(list(ability ORDER BY position)), NULL
FROM mirt_run_ability GROUP BY calibration_id;

INSERT INTO fitted_array
SELECT a.calibration_id, 'mirt', 'run_ids', [count(*)::INTEGER], NULL,
       list(r.run_key ORDER BY a.position)
FROM mirt_run_ability AS a JOIN run AS r USING (run_id) GROUP BY a.calibration_id;

INSERT INTO fitted_array
SELECT calibration_id, 'mirt', 'prior_mean', [len(prior_mean)::INTEGER], prior_mean, NULL
FROM mirt_calibration;

INSERT INTO fitted_array
SELECT calibration_id, 'mirt', 'held_out_log_likelihood',
       [CASE WHEN held_out_log_likelihood IS NULL THEN 0 ELSE 1 END],
       CASE WHEN held_out_log_likelihood IS NULL THEN [] ELSE [held_out_log_likelihood] END, NULL
FROM mirt_calibration;

INSERT INTO fitted_array
SELECT calibration_id, 'mirt', name, [], [value], NULL
FROM (
    SELECT calibration_id, prior_precision, discrimination_sd, log_posterior, log_likelihood,
           converged::INTEGER::DOUBLE AS converged, n_iterations::DOUBLE AS n_iterations
    FROM mirt_calibration
) UNPIVOT (value FOR name IN (
    prior_precision, discrimination_sd, log_posterior, log_likelihood, converged, n_iterations
));

INSERT INTO fitted_array
SELECT h.calibration_id, 'hspr', 'group_of_question', [count(*)::INTEGER],
       list(h.group_position::DOUBLE ORDER BY i.position), NULL
FROM hspr_question AS h JOIN item_parameter AS i USING (calibration_id, question_id)
GROUP BY h.calibration_id;

INSERT INTO fitted_array
SELECT calibration_id, 'hspr', name, [count(*)::INTEGER], list(value ORDER BY position), NULL
FROM (
    SELECT calibration_id, position, intercept, slope,
           source_zero::INTEGER::DOUBLE AS source_zero
    FROM hspr_group
) UNPIVOT (value FOR name IN (intercept, slope, source_zero))
GROUP BY calibration_id, name;

INSERT INTO fitted_array
SELECT calibration_id, 'hspr', 'directions',
       [count(*)::INTEGER, any_value(len(directions))::INTEGER],
       flatten(list(directions ORDER BY position)), NULL
FROM hspr_group GROUP BY calibration_id;

INSERT INTO fitted_array
SELECT s.calibration_id, 'hspr', 'source_ids', [count(*)::INTEGER], NULL,
       list(r.run_key ORDER BY s.position)
FROM hspr_source AS s JOIN run AS r USING (run_id) GROUP BY s.calibration_id;

INSERT INTO fitted_array
SELECT calibration_id, 'hspr', 'configuration', [], NULL, [configuration] FROM hspr_calibration;

INSERT INTO fitted_array
SELECT calibration_id, 'hspr', 'rates', [3], [zero_mass, alpha, beta], NULL FROM hspr_calibration;

INSERT INTO fitted_array
SELECT calibration_id, 'hspr', 'source_scores', [len(source_scores)::INTEGER], source_scores, NULL
FROM hspr_calibration;

INSERT INTO fitted_array
SELECT calibration_id, 'hspr', 'trial_correlation', [], [trial_correlation], NULL
FROM hspr_calibration;

DROP TABLE mirt_calibration;
DROP TABLE mirt_item_parameter;
DROP TABLE mirt_run_ability;
DROP TABLE hspr_calibration;
DROP TABLE hspr_group;
DROP TABLE hspr_question;
DROP TABLE hspr_source;
ALTER TABLE calibration DROP COLUMN gpirt_outcome_variance;
ALTER TABLE calibration DROP COLUMN gpirt_irt_bias;

-- The error is the estimate less the full pass rate.
ALTER TABLE replay_residual DROP COLUMN error;

-- One name per method: the weighted mean over a stratified subset had two.
UPDATE replay_residual SET method = 'stratified+weighted' WHERE method = 'stratified';
UPDATE estimate SET method = 'stratified+weighted' WHERE method = 'stratified';
UPDATE full_run_check SET method = 'stratified+weighted' WHERE method = 'stratified';
