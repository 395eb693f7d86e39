export interface DemoTask {
  readonly kind: DemoTaskKind;
  readonly prompt: string;
}

type DemoTaskKind = 'code' | 'maths' | 'writing';

/** Invented, like the skills of the simulated supplier: these values say nothing about real models. */
const skills: Readonly<Record<DemoTaskKind, Readonly<Record<string, number>>>> = {
  code: { 'sim-small': 45, 'sim-large': 88, 'sim-reason': 84, 'sim-8k': 30 },
  maths: { 'sim-small': 35, 'sim-large': 62, 'sim-reason': 94, 'sim-8k': 25 },
  writing: { 'sim-small': 84, 'sim-large': 88, 'sim-reason': 80, 'sim-8k': 74 },
};

const phrases: Readonly<Record<DemoTaskKind, readonly string[]>> = {
  code: [
    'Write a python function that parses {thing} and add a unit test.',
    'This typescript function throws when {thing} is empty: find the bug in the code.',
    'Write the SQL query that lists {thing} by day and explain the index it needs.',
  ],
  maths: [
    'Solve the equation for {thing} and prove that the solution is unique.',
    'What is the probability that {thing} fails twice? Calculate it step by step.',
    'Find the derivative of the cost of {thing} and the integral over a day.',
  ],
  writing: [
    'Rewrite this letter about {thing} so that it is friendly and short.',
    'Summarize the report on {thing} in three sentences.',
    'Write an email that tells our customers about {thing}.',
  ],
};

const things = [
  'tide tables',
  'berth bookings',
  'crane loads',
  'port fees',
  'pilot rosters',
  'cargo lists',
  'weather logs',
];

export function randomTask(): DemoTask {
  const kind = pickRandom(Object.keys(phrases) as DemoTaskKind[]);
  return { kind, prompt: pickRandom(phrases[kind]).replace('{thing}', pickRandom(things)) };
}

export function scoreOf(model: string, { kind }: DemoTask): number {
  const noise = (Math.random() + Math.random() + Math.random() - 1.5) * 22;
  return Math.round(Math.min(100, Math.max(0, (skills[kind][model] ?? 50) + noise)) * 10) / 10;
}

function pickRandom<T>(list: readonly T[]): T {
  const item = list[Math.floor(Math.random() * list.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}
