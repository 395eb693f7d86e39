import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasData, readData } from './data';
import { cellsOf, type Figure, headings, held, line } from './measured';
import { projectFolder } from '../../test/system/program';
import { circumstances, keep } from './report';
import { synthetic } from './synthetic';
import { curveTrack, learningTrack, neverTrack, pairTrack, speedTrack, unseenTrack } from './tracks';
import { above, atLeast, atMost } from './measured';

/** Never used while the router was made. */
const freshSeeds = [61_801, 61_802, 61_803, 61_804, 61_805];

const usage = `npm run bench:autorouter -- [options]

  --seeds 1,2,3     other splits than the fresh ones; nothing is kept
  --only A,G        only these tracks; nothing is kept
  --synthetic       on generated traffic, even where the data are there
`;

function main(words: string[]): void {
  const { values } = parseArgs({
    args: words,
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
  const wants = (track: string): boolean => values.only?.split(',').includes(track) ?? true;
  const folder =
    process.env['AUTOROUTER_BENCH_DIR'] ?? join(projectFolder, '..', 'shared', 'data', 'autorouter');
  const made = values.synthetic || !hasData(folder);
  process.stdout.write(
    made
      ? 'SYNTHETIC: generated traffic; these figures say nothing about real models.\n\n'
      : `data: public sets\n\n`,
  );
  process.stdout.write(`${line(headings)}\n`);
  const figures: Figure[] = [];
  const show = (found: readonly Figure[]): void => {
    figures.push(...found);
    for (const figure of found) process.stdout.write(`${line(cellsOf(figure))}\n`);
  };
  if (made) measureSynthetic(seeds, wants, show);
  else measurePublic(folder, seeds, wants, show);
  const judged = figures.filter((figure) => held(figure) !== null);
  const kept = judged.filter((figure) => held(figure) === true).length;
  const facts = circumstances(words, { loadBefore, seeds, data: made ? 'synthetic' : 'public' });
  if (values.seeds === undefined && values.only === undefined)
    process.stdout.write(`\nkept as ${keep(figures, facts)}.{json,md}\n`);
  process.stdout.write(`\nbench:autorouter${made ? ' (synthetic)' : ''}: ${kept} of ${judged.length} held\n`);
  process.exitCode = kept === judged.length ? 0 : 1;
}

type Show = (found: readonly Figure[]) => void;
type Wants = (track: string) => boolean;

function measurePublic(folder: string, seeds: readonly number[], wants: Wants, show: Show): void {
  const data = readData(folder);
  // Before the long tracks, while the machine is cool.
  if (wants('G'))
    show(
      speedTrack({ ...data.mixed, rows: [...data.mixed.rows, ...data.gsmPair.rows, ...data.mmluPair.rows] }),
    );
  if (wants('A'))
    show(
      curveTrack('A', data.mix, seeds, {
        gapClosed: { must: atLeast(17), target: atLeast(20) },
        cost100: { must: atMost(0.5), target: atMost(0.43) },
        mostQuality: { must: atLeast(1.035), target: atLeast(1.05) },
      }),
    );
  if (wants('B'))
    show(
      curveTrack('B', data.mmluPro, seeds, {
        gapClosed: { must: atLeast(4), target: atLeast(6.5) },
        cost99: { must: atMost(0.7), target: atMost(0.57) },
      }),
    );
  if (wants('C'))
    show(curveTrack('C', data.mixed, seeds, { gapClosed: { must: atLeast(6), target: atLeast(9) } }));
  if (wants('D')) show(pairTrack(data, seeds));
  if (wants('E')) show(unseenTrack(data, seeds));
  if (wants('F')) show(learningTrack(data, seeds));
  if (wants('H')) show(neverTrack(data.mixed, seeds[0] ?? 1));
}

function measureSynthetic(seeds: readonly number[], wants: Wants, show: Show): void {
  const set = synthetic();
  if (wants('G')) show(speedTrack(set));
  if (wants('S'))
    show(curveTrack('S', set, seeds, { gapClosed: { must: above(0) } }, ['shuffledLabels', 'taskBuckets']));
  if (wants('H')) show(neverTrack(set, seeds[0] ?? 1));
}

main(process.argv.slice(2));
