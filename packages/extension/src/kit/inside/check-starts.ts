import type { KitCheck, Kit } from './kit';

const mustRefuse = async (kit: Kit, host: string): Promise<void> => {
  const output = await kit.refusedOutput({ host });
  if (!output.includes(`written for the contract ${host}`) || !output.includes(kit.definition.id))
    throw new Error(`the refusal does not name the extension and the version:\n${output.slice(-1_000)}`);
};

const majorOf = (host: string): number => Number(/^\^(\d+)/.exec(host)?.[1] ?? 1);

export const startChecks: readonly KitCheck[] = [
  {
    topic: 'start',
    name: 'the service starts with it, and serves',
    run: async (kit) => (await kit.service()).mustServe(kit.prompt),
  },
  {
    topic: 'versions',
    name: 'for an older or newer contract it is refused by name',
    async run(kit) {
      const major = majorOf(kit.definition.host);
      await mustRefuse(kit, `^${major + 1}`);
      await mustRefuse(kit, `^${major}.9999`);
    },
  },
  {
    topic: 'ports',
    name: 'it asks for no port that it does not name',
    async run(kit) {
      await kit.service();
      const { foreignPorts } = kit.contributions();
      if (foreignPorts.length > 0) throw new Error(`it asked for ${foreignPorts.join(', ')}`);
    },
  },
];

/** The first check restarts with the data that the checks before have left. */
export const restartChecks: readonly KitCheck[] = [
  {
    topic: 'start',
    name: 'it starts again on data that is there',
    async run(kit) {
      const service = await kit.restart(kit.extension.wrapper);
      await service.mustServe(kit.prompt);
    },
  },
  {
    topic: 'tables',
    name: 'its migrations are done, and not done again',
    skip: (kit) => (kit.definition.migrations === null ? 'it has no migrations' : null),
    async run(kit) {
      const before = kit.contributions();
      const service = await kit.restart(kit.extension.wrapper);
      await service.mustServe(kit.prompt);
      if (JSON.stringify(kit.contributions()) !== JSON.stringify(before))
        throw new Error('it adds something else');
    },
  },
  {
    topic: 'start',
    name: 'the service starts without it on the same data, and serves',
    async run(kit) {
      const service = await kit.restart(null);
      await service.mustServe('Hello');
      await service.command('money:verify', '--full');
    },
  },
];
