import type { KitCheck } from './kit';

const nanoOf = (usd: string): bigint => {
  const [dollars = '0', part = ''] = usd.split('.');
  return BigInt(dollars) * 1_000_000_000n + BigInt(part.padEnd(9, '0'));
};

export const moneyChecks: readonly KitCheck[] = [
  {
    topic: 'money',
    name: 'a request costs what the supplier counted of the text that it was sent, and its fees',
    async run(kit) {
      const service = await kit.service();
      const standIn = await kit.standIn();
      const { fees } = kit.contributions();
      for (const prompt of [kit.prompt, ...(kit.options.texts ?? [])]) {
        standIn.calls.length = 0;
        const { status, headers, text } = await service.chat(prompt);
        // A gate is allowed to refuse such a text; nothing is owed then.
        if (status !== 200 && prompt !== kit.prompt) continue;
        const counted = standIn.calls.at(-1);
        const cost = headers.get('x-svc-cost-usd');
        if (counted === undefined || cost === null) throw new Error(`it was answered ${status}: ${text}`);
        const minimum = BigInt(counted.input) * 1_000n + BigInt(counted.output) * 2_000n;
        const isRight = fees.length === 0 ? nanoOf(cost) === minimum : nanoOf(cost) >= minimum;
        if (!isRight)
          throw new Error(`${cost} dollars were charged, and ${minimum} nano-dollars were counted`);
      }
    },
  },
  {
    topic: 'money',
    name: 'the books hold after everything that failed',
    run: async (kit) => void (await (await kit.service()).command('money:verify', '--full')),
  },
];
