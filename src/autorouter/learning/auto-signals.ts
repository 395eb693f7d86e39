/** Announces what was said of an answer, for what nodes believe of the reliability of its model. */
export const autoSignalChannel = 'auto_signal';

/** A change of the counts; one that is taken back is negative. */
export interface AnswerSignal {
  readonly organisationId: number;
  readonly model: string;
  readonly failed: number;
  readonly answered: number;
}

export const writtenSignal = ({ organisationId, model, failed, answered }: AnswerSignal): string =>
  `${organisationId} ${failed} ${answered} ${model}`;

/** It is null where it is none. */
export function readSignal(text: string): AnswerSignal | null {
  const [, organisation, failed, answered, model] = /^(\d+) (-?\d) (-?\d) (.+)$/.exec(text) ?? [];
  if (model === undefined) return null;
  return {
    organisationId: Number(organisation),
    model,
    failed: Number(failed),
    answered: Number(answered),
  };
}
