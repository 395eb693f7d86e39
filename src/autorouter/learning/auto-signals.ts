export const autoSignalChannel = 'auto_signal';

/** A change of the counts; negative when feedback is taken back. */
export interface AnswerSignal {
  readonly organisationId: number;
  readonly model: string;
  readonly failed: number;
  readonly answered: number;
}

export const formatSignal = ({ organisationId, model, failed, answered }: AnswerSignal): string =>
  `${organisationId} ${failed} ${answered} ${model}`;

/** Returns null if the text is no signal. */
export function parseSignal(text: string): AnswerSignal | null {
  const [, organisation, failed, answered, model] = /^(\d+) (-?\d) (-?\d) (.+)$/.exec(text) ?? [];
  if (model === undefined) return null;
  return {
    organisationId: Number(organisation),
    model,
    failed: Number(failed),
    answered: Number(answered),
  };
}
