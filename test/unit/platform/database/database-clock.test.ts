import { DatabaseClock } from '../../../../src/platform';

/** A database whose clock reads `elapsed + ahead`, as far away as each answer says. */
function stage() {
  const world = { elapsed: 0, ahead: 1_000_000 };
  const clock = new DatabaseClock(() => world.elapsed);
  /** The answer is given after so much of the way, and then takes the rest. */
  const answer = (there: number, back: number): void => {
    const askedAt = world.elapsed;
    const said = askedAt + there + world.ahead;
    world.elapsed += there + back;
    clock.synchronise(said, askedAt);
  };
  const error = (): number => clock.now() - (world.elapsed + world.ahead);
  return { world, answer, error };
}

describe('the clock of the database', () => {
  test('a quick answer is believed, and a slow one after it is not', () => {
    const { answer, error } = stage();
    answer(80, 5);
    expect(error()).toBeCloseTo(37.5);
    answer(0.2, 0.4);
    expect(error()).toBeCloseTo(-0.1);
    answer(90, 0.2);
    expect(error()).toBeCloseTo(-0.1);
  });

  test('its correction is heard within a second', () => {
    const { world, answer, error } = stage();
    answer(0.1, 0.1);
    world.ahead += 5_000;
    for (let asked = 0; asked < 2; asked += 1) {
      world.elapsed += 500;
      answer(0.5, 0.5);
    }
    expect(error()).toBeCloseTo(0);
  });

  test('a database that is far away is followed too', () => {
    const { world, answer, error } = stage();
    answer(150, 150);
    world.ahead += 5_000;
    world.elapsed += 500;
    answer(140, 160);
    expect(Math.abs(error())).toBeLessThanOrEqual(150);
  });

  test('however the answers come, it is as good as the best of them, each a thousandth of its age worse', () => {
    const { world, answer, error } = stage();
    const heard: { readonly at: number; readonly doubt: number }[] = [];
    let seed = 7;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let asked = 0; asked < 500; asked += 1) {
      const [there, back] = [random() ** 6 * 400, random() ** 6 * 400];
      answer(there, back);
      heard.push({ at: world.elapsed, doubt: (there + back) / 2 });
      world.elapsed += random() * 1_000;
      const best = Math.min(...heard.map(({ at, doubt }) => doubt + (world.elapsed - at) / 1_000));
      expect(Math.abs(error())).toBeLessThanOrEqual(best + 0.001);
    }
  });
});
