import { type AnswerCheck, unusable } from '../answer-check';

/** Suppliers call the list by one of two names. It may be empty: a threshold can leave nothing. */
export const checkRerankAnswer: AnswerCheck = ({ results, data }) =>
  Array.isArray(results) || Array.isArray(data) ? undefined : unusable('results');
