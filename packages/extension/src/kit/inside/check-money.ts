import type { Check } from './kit';

const nanoOf = (usd: string): bigint => {
  const [whole = '0', part = ''] = usd.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, '0'));
};

export const moneyChecks: readonly Check[] = [
  {
    topic: 'money',
    name: 'a request costs what the supplier counted of the text that it was sent, and its fees',
    async run(kit) {
      const house = await kit.house();
      const standIn = await kit.standIn();
      const { fees } = kit.facts();
      for (const prompt of [kit.prompt, ...(kit.options.texts ?? [])]) {
        standIn.counted.length = 0;
        const { status, headers, text } = await house.chat(prompt);
        // A gate may refuse such a text, and then nothing is owed.
        if (status !== 200 && prompt !== kit.prompt) continue;
        const counted = standIn.counted.at(-1);
        const cost = headers.get('x-svc-cost-usd');
        if (counted === undefined || cost === null) throw new Error(`it was answered ${status}: ${text}`);
        const least = BigInt(counted.input) * 1_000n + BigInt(counted.output) * 2_000n;
        const isRight = fees.length === 0 ? nanoOf(cost) === least : nanoOf(cost) >= least;
        if (!isRight) throw new Error(`${cost} dollars were charged, and ${least} nano-dollars were counted`);
      }
    },
  },
  {
    topic: 'money',
    name: 'the books hold after everything that failed',
    run: async (kit) => void (await (await kit.house()).command('money:verify', '--full')),
  },
];
