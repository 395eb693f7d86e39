import type { CliContext } from '../command';

export const megabytes = (bytes: number): string =>
  `${(bytes / 1_000_000).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;

const STEP_PERCENT = 10;

/** Reports each tenth once, so that a log stays readable. */
export function progressTo(
  context: Pick<CliContext, 'writeStderr'>,
): (progress: { step: string; doneBytes: number; expectedBytes: number }) => void {
  const reported = new Map<string, number>();
  return ({ step, doneBytes, expectedBytes }) => {
    if (expectedBytes === 0) return;
    const percent = Math.min(100, Math.floor((doneBytes / expectedBytes) * STEP_PERCENT) * STEP_PERCENT);
    if (percent <= (reported.get(step) ?? 0)) return;
    reported.set(step, percent);
    context.writeStderr(`${step}: ${percent} % of about ${megabytes(expectedBytes)}\n`);
  };
}
