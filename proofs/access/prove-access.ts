import { World } from '../operations/world';
import { builtExtension } from '../../test/support/extension-folder';
import { Findings, runProof } from '../../test/system/findings';
import { type Route, servedRoutes } from '../../test/system/routes';
import { publicIdOf } from '#inside/keys/key-text';
import { runKeyTiming } from './key-timing';
import { runLeaks } from './leaks';
import { runMassAssignment } from './mass-assignment';
import { runMatrix } from './matrix';
import { Places } from './people';

const MOST_SHOWN = 60;

/** The routes of portal and administration; the gateway's are behind keys and have their own proofs. */
const isOurs = ({ access, path }: Route): boolean =>
  access !== 'key' && !path.startsWith('/v1/') && !path.startsWith('/v2/') && path !== '/health/ready';

/**
 * Every route that is registered, by every caller, on things of every relation, against a policy that is written apart.
 * `--only <words>` takes the routes whose path holds the words.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:access');
  const example = builtExtension('examples/extensions/cost-centres');
  const world = await World.open({ EXTENSIONS: example.path, KEY_FAILURES_PER_MINUTE: '1000000' });
  try {
    const places = await Places.open(world);
    const isPart = process.argv.includes('--only');
    const only = process.argv[process.argv.indexOf('--only') + 1] ?? '';
    const all = (await servedRoutes(world.url)).filter(isOurs);
    const routes = isPart ? all.filter(({ path }) => path.includes(only)) : all;
    // A few routes may be neither changes nor lists.
    const over: Findings['over'] = (what, cases, wrong, found) =>
      isPart && cases === 0
        ? findings.leaveOut(what, `no route with ${only} is one`)
        : findings.over(what, cases, wrong, found);
    const matrix = await runMatrix(places, routes);
    tell(matrix.wrong);
    findings.over(
      'every cell is as the policy says',
      matrix.cells,
      matrix.wrong.length,
      `${matrix.cells} cells of ${routes.length} routes, ${matrix.wrong.length} are not; ${matrix.compared} compared with absent`,
    );
    const mass = await runMassAssignment(places, routes);
    tell(mass.wrong);
    over(
      'what a form does not have changes nothing',
      mass.tried,
      mass.wrong.length,
      `${mass.tried} changes with a smuggled field, ${mass.wrong.length} did something`,
    );
    const leaks = await runLeaks(places, routes);
    tell(leaks.wrong);
    over(
      'lists, pickers, searches, groupings and files hold nothing foreign',
      leaks.read,
      leaks.wrong.length,
      `${leaks.read} read, ${leaks.wrong.length} with something foreign`,
    );
    const timing = await runKeyTiming(world.anonymous, publicIdOf(world.gateway.node.keys.demo) ?? '');
    findings.over(
      'an unknown key and a wrong secret take equally long',
      timing.asked,
      timing.isBiased ? 1 : 0,
      `the unknown one was slower in ${(100 * timing.share).toFixed(1)} % of all pairs`,
    );
  } finally {
    await world.close();
    example.remove();
  }
  findings.end();
}

function tell(wrong: readonly string[]): void {
  for (const line of wrong.slice(0, MOST_SHOWN)) process.stdout.write(`wrong   ${line}\n`);
}

runProof(main);
