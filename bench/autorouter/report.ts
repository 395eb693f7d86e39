import { factsOf, saveRun, loadOf, type RunFacts } from '../saved-run';
import { type RouterCells, cellsOf, type RouterFigure, headings } from './figure';

interface AutorouterFacts extends RunFacts {
  readonly data: 'public' | 'synthetic';
  readonly seeds: readonly number[];
}

export const collectRunFacts = (
  args: readonly string[],
  { loadBefore, ...facts }: { loadBefore: number } & Pick<AutorouterFacts, 'data' | 'seeds'>,
): AutorouterFacts => ({
  ...factsOf('autorouter', args, loadBefore, ['src/autorouter/engine', 'bench/autorouter']),
  ...facts,
});

export function saveReport(figures: readonly RouterFigure[], facts: AutorouterFacts): string {
  const suffix = facts.data === 'synthetic' ? '-synthetic' : '';
  return saveRun(facts, figures, markdown(figures, facts), `-autorouter${suffix}`);
}

function markdown(figures: readonly RouterFigure[], facts: AutorouterFacts): string[] {
  const row = ({ track, what, must, target, measured, verdict, note }: RouterCells): string =>
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
