import {
  CHAT_WIRES,
  EFFORTS,
  FACTS_CHECKED,
  factsOf,
  knownModels,
  type ModelFacts,
  SAMPLINGS,
  SCHEMA_RULES,
  THINKING_TYPES,
  VENDORS,
} from '../../../src/vendors';

const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);

const namesOf = (model: ModelFacts): string[] => [model.id, ...(model.aliases ?? [])];

/** The rows for which something does not hold, by their ids. */
const breaking = (holds: (model: ModelFacts) => boolean): string[] =>
  knownModels.filter((model) => !holds(model)).map(({ id }) => id);

const isWhole = (value: number | undefined, least: number): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value >= least);

describe('facts of models', () => {
  it('have a source, and the day on which it was read', () => {
    expect(
      breaking(({ source }) => /^(https:\/\/[^\s]+|npm:[^\s]+@\d[^\s]*( \([^)]+\))?)$/.test(source)),
    ).toEqual([]);
    expect(breaking(({ checked }) => isDay(checked) && checked <= FACTS_CHECKED)).toEqual([]);
  });

  it('name every vendor', () => {
    expect([...new Set(knownModels.map(({ vendor }) => vendor))].sort()).toEqual([...VENDORS].sort());
  });

  it('give every name to one model', () => {
    const names = knownModels.flatMap(namesOf);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names.filter((name) => name.trim() !== name || name === '')).toEqual([]);
  });

  it('use the words of their types, each once', () => {
    const within = (values: readonly string[] | undefined, all: readonly string[]): boolean =>
      (values ?? []).every((value, at, list) => all.includes(value) && list.indexOf(value) === at);
    expect(breaking(({ thinking }) => within(thinking?.efforts, EFFORTS))).toEqual([]);
    expect(breaking(({ thinking }) => within(thinking?.types, THINKING_TYPES))).toEqual([]);
    expect(breaking(({ sampling }) => within(sampling && [sampling], SAMPLINGS))).toEqual([]);
    expect(breaking(({ chat }) => within(chat && [chat], CHAT_WIRES))).toEqual([]);
    expect(breaking(({ schema }) => within(schema && [schema], SCHEMA_RULES))).toEqual([]);
    expect(breaking(({ chatRefuses }) => within(chatRefuses, chatRefuses ?? []))).toEqual([]);
  });

  it('have efforts that fit together', () => {
    const inOrder = (efforts: readonly string[] = []): boolean =>
      [...efforts]
        .sort(
          (one, other) =>
            EFFORTS.findIndex((name) => name === one) - EFFORTS.findIndex((name) => name === other),
        )
        .join() === efforts.join();
    expect(breaking(({ thinking }) => inOrder(thinking?.efforts))).toEqual([]);
    expect(
      breaking(({ thinking }) => !thinking?.usual || (thinking.efforts ?? []).includes(thinking.usual)),
    ).toEqual([]);
    expect(
      breaking(({ thinking }) =>
        (thinking?.responsesOnly ?? []).every((effort) => thinking?.efforts?.includes(effort)),
      ),
    ).toEqual([]);
    expect(
      breaking(({ thinking }) => !thinking || thinking.canStop || !(thinking.efforts ?? []).includes('none')),
    ).toEqual([]);
  });

  it('say how a model that can stop thinking is told to', () => {
    expect(
      breaking(
        ({ thinking }) =>
          !thinking?.canStop ||
          thinking.types?.includes('disabled') === true ||
          thinking.efforts?.includes('none') === true ||
          thinking.budget?.least === 0,
      ),
    ).toEqual([]);
    expect(
      breaking(({ thinking }) => thinking?.canStop !== false || !thinking.types?.includes('disabled')),
    ).toEqual([]);
  });

  it('have sane numbers', () => {
    expect(breaking(({ window }) => isWhole(window, 512))).toEqual([]);
    expect(breaking(({ maxOutput }) => isWhole(maxOutput, 512))).toEqual([]);
    expect(breaking(({ window, maxOutput }) => !window || !maxOutput || maxOutput <= window)).toEqual([]);
    expect(
      breaking(({ thinking, maxOutput }) => {
        const budget = thinking?.budget;
        if (!budget) return true;
        return (
          isWhole(budget.least, 0) &&
          isWhole(budget.most, 1) &&
          budget.least < budget.most &&
          (maxOutput === undefined || budget.most < maxOutput)
        );
      }),
    ).toEqual([]);
    expect(
      breaking(
        ({ longContext, window }) =>
          !longContext ||
          (longContext.input > 1 && longContext.output > 1 && (!window || longContext.above < window)),
      ),
    ).toEqual([]);
  });

  it('end on a day, and lead to a model that is known and lives longer', () => {
    expect(breaking(({ ends }) => ends === undefined || isDay(ends))).toEqual([]);
    expect(
      breaking(({ ends, replacedBy, vendor }) => {
        if (replacedBy === undefined) return true;
        const next = factsOf(replacedBy);
        return next?.vendor === vendor && ends !== undefined && (next.ends ?? '9999') > ends;
      }),
    ).toEqual([]);
  });

  it('are of models that are still served', () => {
    expect(breaking(({ ends }) => ends === undefined || ends >= FACTS_CHECKED)).toEqual([]);
  });
});

describe('looking facts up', () => {
  it('finds a model by its id and by each alias', () => {
    for (const model of knownModels) {
      for (const name of namesOf(model)) expect(factsOf(name)).toBe(model);
    }
  });

  it.each([
    'gpt-5.5-foo',
    'gpt-5.5 ',
    'GPT-5.5',
    'gpt-5',
    'claude-opus-5-5-20260922',
    'claude-opus-5-50',
    'toString',
    '__proto__',
    '',
  ])('knows %p by its whole name only', (name) => {
    expect(factsOf(name)?.id ?? null).toBe(knownModels.some(({ id }) => id === name) ? name : null);
  });

  it('takes no name that only begins or ends like a known one', () => {
    for (const { id } of knownModels) {
      expect(factsOf(`${id}-foo`)).toBeNull();
      expect(factsOf(`x-${id}`)).toBeNull();
    }
  });
});
