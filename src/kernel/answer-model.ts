/** Whose name of the model an answer carries: the one of this catalogue, or what its supplier says. */
export const ANSWER_MODELS = ['caller', 'supplier'] as const;
export type AnswerModel = (typeof ANSWER_MODELS)[number];
