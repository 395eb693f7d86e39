import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasData, readData } from './data';
import { cellsOf, type RouterFigure, headings, isMet, line } from './figure';
import { projectFolder } from '../../test/system/program';
import { collectRunFacts, saveReport } from './report';
import { synthetic } from './synthetic';
import { curveTrack, learningTrack, invariantTrack, pairTrack, speedTrack, unseenTrack } from './tracks';
import { above, atLeast, atMost } from './figure';

/** Seeds never used during development of the router. */
const freshSeeds = [61_801, 61_802, 61_803, 61_804, 61_805];

const usage = `npm run bench:autorouter -- [options]

  --seeds 1,2,3     other splits than the fresh ones; nothing is kept
  --only A,G        only these tracks; nothing is kept
  --synthetic       on generated traffic, even where the data are there
`;

function main(args: string[]): void {
  const { values } = parseArgs({
    args: args,
    options: {
      seeds: { type: 'string' },
      only: { type: 'string' },
      synthetic: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(usage);
  const loadBefore = loadavg()[0] ?? NaN;
  const seeds = values.seeds?.split(',').map(Number) ?? freshSeeds;
  const isSelected = (track: string): boolean => values.only?.split(',').includes(track) ?? true;
  const folder =
    process.env['AUTOROUTER_BENCH_DIR'] ?? join(projectFolder, '..', 'shared', 'data', 'autorouter');
  const isSynthetic = values.synthetic || !hasData(folder);
  process.stdout.write(
    isSynthetic
      ? 'SYNTHETIC: generated traffic; these figures say nothing about real models.\n\n'
      : `data: public sets\n\n`,
  );
  process.stdout.write(`${line(headings)}\n`);
  const figures: RouterFigure[] = [];
  const show = (newFigures: readonly RouterFigure[]): void => {
    figures.push(...newFigures);
    for (const figure of newFigures) process.stdout.write(`${line(cellsOf(figure))}\n`);
  };
  if (isSynthetic) measureSynthetic(seeds, isSelected, show);
  else measurePublic(folder, seeds, isSelected, show);
  const judgedFigures = figures.filter((figure) => isMet(figure) !== null);
  const metCount = judgedFigures.filter((figure) => isMet(figure) === true).length;
  const facts = collectRunFacts(args, { loadBefore, seeds, data: isSynthetic ? 'synthetic' : 'public' });
  if (values.seeds === undefined && values.only === undefined)
    process.stdout.write(`\nkept as ${saveReport(figures, facts)}.{json,md}\n`);
  process.stdout.write(
    `\nbench:autorouter${isSynthetic ? ' (synthetic)' : ''}: ${metCount} of ${judgedFigures.length} held\n`,
  );
  process.exitCode = metCount === judgedFigures.length ? 0 : 1;
}

type ShowFigures = (figures: readonly RouterFigure[]) => void;
type TrackFilter = (track: string) => boolean;

function measurePublic(
  folder: string,
  seeds: readonly number[],
  isSelected: TrackFilter,
  show: ShowFigures,
): void {
  const data = readData(folder);
  // Runs before the long tracks, while the CPU is cool.
  if (isSelected('G'))
    show(
      speedTrack({ ...data.mixed, rows: [...data.mixed.rows, ...data.gsmPair.rows, ...data.mmluPair.rows] }),
    );
  if (isSelected('A'))
    show(
      curveTrack('A', data.mix, seeds, {
        gapClosed: { must: atLeast(17), target: atLeast(20) },
        cost100: { must: atMost(0.5), target: atMost(0.43) },
        maxQuality: { must: atLeast(1.035), target: atLeast(1.05) },
      }),
    );
  if (isSelected('B'))
    show(
      curveTrack('B', data.mmluPro, seeds, {
        gapClosed: { must: atLeast(4), target: atLeast(6.5) },
        cost99: { must: atMost(0.7), target: atMost(0.57) },
      }),
    );
  if (isSelected('C'))
    show(curveTrack('C', data.mixed, seeds, { gapClosed: { must: atLeast(6), target: atLeast(9) } }));
  if (isSelected('D')) show(pairTrack(data, seeds));
  if (isSelected('E')) show(unseenTrack(data, seeds));
  if (isSelected('F')) show(learningTrack(data, seeds));
  if (isSelected('H')) show(invariantTrack(data.mixed, seeds[0] ?? 1));
}

function measureSynthetic(seeds: readonly number[], isSelected: TrackFilter, show: ShowFigures): void {
  const set = synthetic();
  if (isSelected('G')) show(speedTrack(set));
  if (isSelected('S'))
    show(curveTrack('S', set, seeds, { gapClosed: { must: above(0) } }, ['shuffledLabels', 'taskBuckets']));
  if (isSelected('H')) show(invariantTrack(set, seeds[0] ?? 1));
}

main(process.argv.slice(2));
