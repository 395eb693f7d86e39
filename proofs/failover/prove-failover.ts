import { Findings, partsGiven, runProof } from '../../test/system/findings';
import { closeConnections } from './caller';
import { type Drill, DrillContext } from './drill';
import { accounting } from './drills/accounting';
import { cut, malformedEvent, noTerminator } from './drills/broken-streams';
import { contentFilter, contextLength, prefill } from './drills/caller-mistakes';
import { totalOutage } from './drills/outage';
import { recovery } from './drills/recovery';
import { oneFailure, oneLimit, persistentFailure, persistentLimits, reset } from './drills/refusals';
import { lateFirstToken, noAnswer, stall } from './drills/silences';
import { noAnswers } from './drills/no-answers';
import { callersFaults, probeAwaited, sameLane, standIn } from './drills/lanes';
import { Testbed } from './testbed';
import { longLimits, shortLimits } from './limits';

const drills: readonly Drill[] = [
  oneLimit,
  persistentLimits,
  oneFailure,
  persistentFailure,
  reset,
  noAnswer,
  lateFirstToken,
  cut,
  stall,
  malformedEvent,
  noTerminator,
  contextLength,
  contentFilter,
  prefill,
  recovery,
  accounting,
  totalOutage,
  sameLane,
  callersFaults,
  probeAwaited,
  standIn,
  noAnswers,
];

/** With numbers, only the drills of these numbers; with --long, at the product's own limits. */
async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const numberOf = ({ name }: Drill): string => name.split(' ')[0] ?? '';
  const numbers = partsGiven(drills.map(numberOf));
  const wanted = drills.filter((drill) => numbers.includes(numberOf(drill)));
  const scenes = wanted.flatMap(({ name: drill, scenes }) =>
    Object.entries(scenes).map(([name, layout]) => ({ drill, name, layout })),
  );
  const findings = new Findings('prove:failover');
  const testbed = await Testbed.open(scenes, words.includes('--long') ? longLimits : shortLimits);
  try {
    for (const drill of wanted) await drill.run(new DrillContext(drill, testbed, findings));
  } finally {
    closeConnections();
    await testbed.close();
  }
  findings.end();
}

runProof(main);
