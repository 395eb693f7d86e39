import { DatabaseClock } from '../../../../src/platform';

/** Creates a clock and a database that is `ahead` of it, at the distance that each response simulates. */
function createClock() {
  const state = { elapsed: 0, ahead: 1_000_000 };
  const clock = new DatabaseClock(() => state.elapsed);
  /** Simulates a response with the given outbound and return times. */
  const answer = (there: number, back: number): void => {
    const requestedAt = state.elapsed;
    const databaseTime = requestedAt + there + state.ahead;
    state.elapsed += there + back;
    clock.synchronise(databaseTime, requestedAt);
  };
  const error = (): number => clock.now() - (state.elapsed + state.ahead);
  return { world: state, answer, error };
}

describe('Database clock', () => {
  test('trusts a quick response and ignores a slow one after it', () => {
    const { answer, error } = createClock();
    answer(80, 5);
    expect(error()).toBeCloseTo(37.5);
    answer(0.2, 0.4);
    expect(error()).toBeCloseTo(-0.1);
    answer(90, 0.2);
    expect(error()).toBeCloseTo(-0.1);
  });

  test('follows a correction of the database clock within a second', () => {
    const { world, answer, error } = createClock();
    answer(0.1, 0.1);
    world.ahead += 5_000;
    for (let round = 0; round < 2; round += 1) {
      world.elapsed += 500;
      answer(0.5, 0.5);
    }
    expect(error()).toBeCloseTo(0);
  });

  test('follows a distant database too', () => {
    const { world, answer, error } = createClock();
    answer(150, 150);
    world.ahead += 5_000;
    world.elapsed += 500;
    answer(140, 160);
    expect(Math.abs(error())).toBeLessThanOrEqual(150);
  });

  test('error is at most that of the best response plus a thousandth of its age', () => {
    const { world, answer, error } = createClock();
    const samples: { readonly at: number; readonly doubt: number }[] = [];
    let seed = 7;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let round = 0; round < 500; round += 1) {
      const [there, back] = [random() ** 6 * 400, random() ** 6 * 400];
      answer(there, back);
      samples.push({ at: world.elapsed, doubt: (there + back) / 2 });
      world.elapsed += random() * 1_000;
      const smallestError = Math.min(...samples.map(({ at, doubt }) => doubt + (world.elapsed - at) / 1_000));
      expect(Math.abs(error())).toBeLessThanOrEqual(smallestError + 0.001);
    }
  });
});
