import type { CommandContext } from '../command';

export const megabytes = (bytes: number): string =>
  `${(bytes / 1_000_000).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;

const STEP = 10;

/** One line for every tenth, so that a log stays readable. */
export function progressTo(
  context: Pick<CommandContext, 'writeStderr'>,
): (progress: { step: string; doneBytes: number; expectedBytes: number }) => void {
  const told = new Map<string, number>();
  return ({ step, doneBytes, expectedBytes }) => {
    if (expectedBytes === 0) return;
    const share = Math.min(100, Math.floor((doneBytes / expectedBytes) * STEP) * STEP);
    if (share <= (told.get(step) ?? 0)) return;
    told.set(step, share);
    context.writeStderr(`${step}: ${share} % of about ${megabytes(expectedBytes)}\n`);
  };
}
