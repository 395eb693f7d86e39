/** A made-up request of one kind. */
export interface Task {
  readonly kind: Kind;
  readonly prompt: string;
}

type Kind = 'code' | 'maths' | 'writing';

/** They are made up, as the skills of the simulated supplier are: they say nothing about any real model. */
const skills: Readonly<Record<Kind, Readonly<Record<string, number>>>> = {
  code: { 'sim-small': 45, 'sim-large': 88, 'sim-reason': 84, 'sim-8k': 30 },
  maths: { 'sim-small': 35, 'sim-large': 62, 'sim-reason': 94, 'sim-8k': 25 },
  writing: { 'sim-small': 84, 'sim-large': 88, 'sim-reason': 80, 'sim-8k': 74 },
};

const phrases: Readonly<Record<Kind, readonly string[]>> = {
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

export function randomTask(): Task {
  const kind = chosenOf(Object.keys(phrases) as Kind[]);
  return { kind, prompt: chosenOf(phrases[kind]).replace('{thing}', chosenOf(things)) };
}

/** Scores go from 0 to 100, around the skill of the model. */
export function scoreOf(model: string, { kind }: Task): number {
  const noise = (Math.random() + Math.random() + Math.random() - 1.5) * 22;
  return Math.round(Math.min(100, Math.max(0, (skills[kind][model] ?? 50) + noise)) * 10) / 10;
}

function chosenOf<T>(list: readonly T[]): T {
  const chosen = list[Math.floor(Math.random() * list.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}
