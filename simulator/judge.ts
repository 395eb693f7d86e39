import { hashText } from './hash';
import { parseJson } from './json';
import { WRONG } from './skill';

/**
 * Simulates the judge for requests like the service's: it counts the words that a simulated model got wrong. Only
 * answers of the simulator can be judged that way. Undefined for every other text.
 */
export function judgementOf(text: string): string | undefined {
  if (!text.startsWith('{"task":"judge-')) return undefined;
  const asked = parseJson(text)?.value as Readonly<Record<string, unknown>> | undefined;
  const { task, check } = asked ?? {};
  if (task === 'judge-rate') return JSON.stringify({ check, ...ratingOf(String(asked?.['answer'])) });
  if (task !== 'judge-compare') return undefined;
  const [first, second] = [rightIn(String(asked?.['first'])), rightIn(String(asked?.['second']))];
  const better = Math.abs(first - second) < 0.05 ? 'tie' : first > second ? 'first' : 'second';
  return JSON.stringify({ check, better });
}

function ratingOf(answer: string): object {
  // A judge is never quite of one mind.
  const mood = ((hashText(answer) % 11) - 5) / 10;
  const score = Math.round(Math.min(10, Math.max(0, rightIn(answer) * 10 + mood)) * 10) / 10;
  return {
    verdict: 'ok',
    scores: { correctness: score, instruction: score, completeness: score, clarity: score, safety: 10 },
    rationale: 'A simulated judge counted the words that a simulated model got wrong.',
  };
}

/** The share of words that are not wrong. */
function rightIn(answer: string): number {
  const words = answer.split(/\s+/).filter((word) => word !== '');
  const wrong = words.filter((word) => word === WRONG).length;
  return words.length === 0 ? 0 : 1 - wrong / words.length;
}
