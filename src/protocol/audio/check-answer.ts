import { type AnswerCheck, unusable } from '../answer-check';

/** Nothing may have been said. */
export const checkTranscriptionAnswer: AnswerCheck = ({ text }) =>
  typeof text === 'string' ? undefined : unusable('text');

/** Speech is sound, so no JSON is an answer. */
export const checkSpeechAnswer: AnswerCheck = () => unusable('sound');
