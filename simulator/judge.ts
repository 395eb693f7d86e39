import { hashText } from './hash';
import { parseJson } from './json';
import { WRONG } from './skill';

/**
 * Simulates the judge by counting the words a simulated model got wrong, so it only rates the simulator's own answers.
 * Returns undefined for texts that are not judge requests.
 */
export function judgementOf(text: string): string | undefined {
  if (!text.startsWith('{"task":"judge-')) return undefined;
  const judgeRequest = parseJson(text)?.value as Readonly<Record<string, unknown>> | undefined;
  const { task, check } = judgeRequest ?? {};
  if (task === 'judge-rate')
    return JSON.stringify({ check, ...rateAnswer(String(judgeRequest?.['answer'])) });
  if (task !== 'judge-compare') return undefined;
  const [first, second] = [
    correctShare(String(judgeRequest?.['first'])),
    correctShare(String(judgeRequest?.['second'])),
  ];
  const better = Math.abs(first - second) < 0.05 ? 'tie' : first > second ? 'first' : 'second';
  return JSON.stringify({ check, better });
}

function rateAnswer(answer: string): object {
  // Adds deterministic noise, as a real judge is never fully consistent.
  const noise = ((hashText(answer) % 11) - 5) / 10;
  const score = Math.round(Math.min(10, Math.max(0, correctShare(answer) * 10 + noise)) * 10) / 10;
  return {
    verdict: 'ok',
    scores: { correctness: score, instruction: score, completeness: score, clarity: score, safety: 10 },
    rationale: 'A simulated judge counted the words that a simulated model got wrong.',
  };
}

/** Share of correct words. */
function correctShare(answer: string): number {
  const words = answer.split(/\s+/).filter((word) => word !== '');
  const wrongCount = words.filter((word) => word === WRONG).length;
  return words.length === 0 ? 0 : 1 - wrongCount / words.length;
}
