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

/** Returns the ids of the models for which the condition fails. */
const violatingIds = (holds: (model: ModelFacts) => boolean): string[] =>
  knownModels.filter((model) => !holds(model)).map(({ id }) => id);

const isIntegerFrom = (value: number | undefined, least: number): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value >= least);

describe('Model facts', () => {
  it('have a source and the day on which it was read', () => {
    expect(
      violatingIds(({ source }) => /^(https:\/\/[^\s]+|npm:[^\s]+@\d[^\s]*( \([^)]+\))?)$/.test(source)),
    ).toEqual([]);
    expect(violatingIds(({ checked }) => isDay(checked) && checked <= FACTS_CHECKED)).toEqual([]);
  });

  it('name every vendor', () => {
    expect([...new Set(knownModels.map(({ vendor }) => vendor))].sort()).toEqual([...VENDORS].sort());
  });

  it('use every name for a single model', () => {
    const names = knownModels.flatMap(namesOf);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names.filter((name) => name.trim() !== name || name === '')).toEqual([]);
  });

  it('use each value of their types at most once', () => {
    const isUniqueSubset = (values: readonly string[] | undefined, all: readonly string[]): boolean =>
      (values ?? []).every((value, at, list) => all.includes(value) && list.indexOf(value) === at);
    expect(violatingIds(({ thinking }) => isUniqueSubset(thinking?.efforts, EFFORTS))).toEqual([]);
    expect(violatingIds(({ thinking }) => isUniqueSubset(thinking?.types, THINKING_TYPES))).toEqual([]);
    expect(violatingIds(({ sampling }) => isUniqueSubset(sampling && [sampling], SAMPLINGS))).toEqual([]);
    expect(violatingIds(({ chat }) => isUniqueSubset(chat && [chat], CHAT_WIRES))).toEqual([]);
    expect(violatingIds(({ schema }) => isUniqueSubset(schema && [schema], SCHEMA_RULES))).toEqual([]);
    expect(violatingIds(({ chatRefuses }) => isUniqueSubset(chatRefuses, chatRefuses ?? []))).toEqual([]);
  });

  it('have consistent efforts', () => {
    const isOrdered = (efforts: readonly string[] = []): boolean =>
      [...efforts]
        .sort(
          (one, other) =>
            EFFORTS.findIndex((name) => name === one) - EFFORTS.findIndex((name) => name === other),
        )
        .join() === efforts.join();
    expect(violatingIds(({ thinking }) => isOrdered(thinking?.efforts))).toEqual([]);
    expect(
      violatingIds(({ thinking }) => !thinking?.usual || (thinking.efforts ?? []).includes(thinking.usual)),
    ).toEqual([]);
    expect(
      violatingIds(({ thinking }) =>
        (thinking?.responsesOnly ?? []).every((effort) => thinking?.efforts?.includes(effort)),
      ),
    ).toEqual([]);
    expect(
      violatingIds(
        ({ thinking }) => !thinking || thinking.canStop || !(thinking.efforts ?? []).includes('none'),
      ),
    ).toEqual([]);
  });

  it('say how thinking is switched off if that is possible', () => {
    expect(
      violatingIds(
        ({ thinking }) =>
          !thinking?.canStop ||
          thinking.types?.includes('disabled') === true ||
          thinking.efforts?.includes('none') === true ||
          thinking.budget?.least === 0,
      ),
    ).toEqual([]);
    expect(
      violatingIds(({ thinking }) => thinking?.canStop !== false || !thinking.types?.includes('disabled')),
    ).toEqual([]);
  });

  it('have plausible numbers', () => {
    expect(violatingIds(({ window }) => isIntegerFrom(window, 512))).toEqual([]);
    expect(violatingIds(({ maxOutput }) => isIntegerFrom(maxOutput, 512))).toEqual([]);
    expect(violatingIds(({ window, maxOutput }) => !window || !maxOutput || maxOutput <= window)).toEqual([]);
    expect(
      violatingIds(({ thinking, maxOutput }) => {
        const budget = thinking?.budget;
        if (!budget) return true;
        return (
          isIntegerFrom(budget.least, 0) &&
          isIntegerFrom(budget.most, 1) &&
          budget.least < budget.most &&
          (maxOutput === undefined || budget.most < maxOutput)
        );
      }),
    ).toEqual([]);
    expect(
      violatingIds(
        ({ longContext, window }) =>
          !longContext ||
          (longContext.input > 1 && longContext.output > 1 && (!window || longContext.above < window)),
      ),
    ).toEqual([]);
  });

  it('end on a day and name a known successor that ends later', () => {
    expect(violatingIds(({ ends }) => ends === undefined || isDay(ends))).toEqual([]);
    expect(
      violatingIds(({ ends, replacedBy, vendor }) => {
        if (replacedBy === undefined) return true;
        const successor = factsOf(replacedBy);
        return successor?.vendor === vendor && ends !== undefined && (successor.ends ?? '9999') > ends;
      }),
    ).toEqual([]);
  });

  it('describe models that are still served', () => {
    expect(violatingIds(({ ends }) => ends === undefined || ends >= FACTS_CHECKED)).toEqual([]);
  });
});

describe('Model facts lookup', () => {
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
  ])('finds %p by its complete name only', (name) => {
    expect(factsOf(name)?.id ?? null).toBe(knownModels.some(({ id }) => id === name) ? name : null);
  });

  it('rejects names that only start or end like a known one', () => {
    for (const { id } of knownModels) {
      expect(factsOf(`${id}-foo`)).toBeNull();
      expect(factsOf(`x-${id}`)).toBeNull();
    }
  });
});
