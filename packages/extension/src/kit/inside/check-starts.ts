import type { Check, Kit } from './kit';

const refusedFor = async (kit: Kit, host: string): Promise<void> => {
  const said = await kit.refusal({ host });
  if (!said.includes(`written for the contract ${host}`) || !said.includes(kit.definition.id))
    throw new Error(`the refusal does not name the extension and the version:\n${said.slice(-1_000)}`);
};

const majorOf = (host: string): number => Number(/^\^(\d+)/.exec(host)?.[1] ?? 1);

export const startChecks: readonly Check[] = [
  {
    topic: 'start',
    name: 'the service starts with it, and serves',
    run: async (kit) => (await kit.house()).serves(kit.prompt),
  },
  {
    topic: 'versions',
    name: 'for an older or newer contract it is refused by name',
    async run(kit) {
      const major = majorOf(kit.definition.host);
      await refusedFor(kit, `^${major + 1}`);
      await refusedFor(kit, `^${major}.9999`);
    },
  },
  {
    topic: 'ports',
    name: 'it asks for no port that it does not name',
    async run(kit) {
      await kit.house();
      const { foreignPorts } = kit.facts();
      if (foreignPorts.length > 0) throw new Error(`it asked for ${foreignPorts.join(', ')}`);
    },
  },
];

/** The first of these starts again on what the checks before have left. */
export const goneChecks: readonly Check[] = [
  {
    topic: 'start',
    name: 'it starts again on data that is there',
    async run(kit) {
      const house = await kit.again(kit.extension.wrapper);
      await house.serves(kit.prompt);
    },
  },
  {
    topic: 'tables',
    name: 'its migrations are done, and not done again',
    skip: (kit) => (kit.definition.migrations === null ? 'it has no migrations' : null),
    async run(kit) {
      const before = kit.facts();
      const house = await kit.again(kit.extension.wrapper);
      await house.serves(kit.prompt);
      if (JSON.stringify(kit.facts()) !== JSON.stringify(before)) throw new Error('it adds something else');
    },
  },
  {
    topic: 'start',
    name: 'the service starts without it on the same data, and serves',
    async run(kit) {
      const house = await kit.again(null);
      await house.serves('Hello');
      await house.command('money:verify', '--full');
    },
  },
];
