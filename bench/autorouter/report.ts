import { factsOf, keepRun, loadOf, type RunFacts } from '../kept-run';
import { type Cells, cellsOf, type Figure, headings } from './measured';

interface AutorouterFacts extends RunFacts {
  readonly data: 'public' | 'synthetic';
  readonly seeds: readonly number[];
}

export const circumstances = (
  words: readonly string[],
  { loadBefore, ...facts }: { loadBefore: number } & Pick<AutorouterFacts, 'data' | 'seeds'>,
): AutorouterFacts => ({
  ...factsOf('autorouter', words, loadBefore, ['src/autorouter/engine', 'bench/autorouter']),
  ...facts,
});

export function keep(figures: readonly Figure[], facts: AutorouterFacts): string {
  const made = facts.data === 'synthetic' ? '-synthetic' : '';
  return keepRun(facts, figures, markdown(figures, facts), `-autorouter${made}`);
}

function markdown(figures: readonly Figure[], facts: AutorouterFacts): string[] {
  const row = ({ track, what, must, target, measured, verdict, note }: Cells): string =>
    `| ${[track, what, must, target, measured, verdict, note].join(' | ')} |`;
  return [
    `# bench:autorouter, ${facts.date}, commit ${facts.commit}${facts.data === 'synthetic' ? ', SYNTHETIC' : ''}`,
    '',
    `Node ${facts.node}, ${facts.machine}.`,
    `\`${facts.command}\`; splits ${facts.seeds.join(', ')};`,
    loadOf(facts),
    '',
    row(headings),
    '|---|---|--:|--:|--:|---|---|',
    ...figures.map((figure) => row(cellsOf(figure))),
    '',
  ];
}
