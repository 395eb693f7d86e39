import { type DataSet, featuresOf, type PromptRow } from './data';
import { randomOf } from './random';

const PROMPT_COUNT = 3_000;

/** A kind of task: its wording, and what makes it hard. */
interface SyntheticTask {
  readonly category: string;
  readonly sentences: readonly string[];
  readonly subjects: readonly string[];
}

const task = (category: string, sentences: string, subjects: string): SyntheticTask => ({
  category,
  sentences: sentences.split(' | '),
  subjects: subjects.split(', '),
});

/** Three tasks per topic, so that the topic alone does not determine the best model. */
const tasks: readonly SyntheticTask[] = [
  task(
    'code',
    'Write a SQL query that lists $ grouped by month. | Which index helps a database query over $? | Join the table of $ with the table of refunds in SQL.',
    'orders, invoices, employees, shipments, sensor readings, page views, tickets',
  ),
  task(
    'code',
    'Why does this Rust function not compile when it borrows $ twice? | Implement a lifetime-safe Rust iterator over $. | Explain the borrow checker error about $.',
    'a vector, the buffer, a hash map, the parser state, a slice of tokens',
  ),
  task(
    'code',
    'Center $ with CSS in a flex container. | Which HTML element fits $? | Make $ responsive with a CSS grid.',
    'a button, the navigation bar, an image gallery, a form, the footer',
  ),
  task(
    'maths',
    'Calculate the integral of $ from 0 to #. | Solve the equation with $ for x = #. | What is the derivative of $ at #?',
    'a cubic polynomial, sin squared, the logarithm, an exponential, a rational function',
  ),
  task(
    'maths',
    'A baker sells # loaves and twice as many $. How many are remaining in total? | # pupils share $ equally; how many does each get? | Half of # $ were sold; what percent is left?',
    'rolls, apples, pencils, tickets, marbles, stamps',
  ),
  task(
    'maths',
    'Prove the theorem that $ is irrational. | Give a proof by induction about $ for all n > #. | Show that $ has no prime divisor below #.',
    'the square root of a prime, a sum of odd numbers, a Mersenne number, the golden ratio',
  ),
  task(
    'medical',
    'Which drug treats $ in a patient of # years? | What dose of it is safe in chronic $? | Name a symptom that tells $ from an infection.',
    'asthma, hypertension, migraine, anaemia, gout, diabetes',
  ),
  task(
    'medical',
    'Explain a diagnosis of $ to a worried patient in plain words. | Write a kind letter from a doctor about $. | What can a nurse say about fear of $?',
    'a fracture, high cholesterol, a benign lesion, tinnitus, an allergy',
  ),
  task(
    'writing',
    'Write a poem about $ in # lines. | Compose a short story in which $ speaks. | Draft a song about $.',
    'the sea, a lighthouse, winter, an old train, two brothers, the moon',
  ),
  task(
    'writing',
    'Rewrite this email about $ in a formal tone. | Summarize the paragraph on $ in # words. | Edit the headline about $ for grammar.',
    'a late delivery, the annual meeting, a refund, new opening hours, a job offer',
  ),
  task(
    'legal',
    'Is a contract on $ valid without a signature? | Which clause limits liability for $? | Who bears damages for $ under the statute?',
    'a used car, a rented flat, software, a building site, stored goods',
  ),
  task(
    'history',
    'Who was the emperor when $ began? | Which treaty ended the war over $? | Why did $ matter in the # century?',
    'the siege, the Baltic trade, the silk road, the colonies, the peasant revolt',
  ),
];

/** From a small, cheap model to a large, expensive one. Skill is the share of ordinary tasks solved, per task above. */
const models = [
  {
    name: 'small-general',
    rate: 0.1,
    skills: [0.35, 0.15, 0.6, 0.3, 0.75, 0.1, 0.4, 0.7, 0.6, 0.8, 0.4, 0.5],
  },
  {
    name: 'small-code',
    rate: 0.15,
    skills: [0.8, 0.5, 0.75, 0.35, 0.6, 0.15, 0.2, 0.3, 0.25, 0.4, 0.2, 0.25],
  },
  {
    name: 'middle-general',
    rate: 0.6,
    skills: [0.6, 0.4, 0.75, 0.55, 0.85, 0.3, 0.6, 0.85, 0.75, 0.88, 0.6, 0.7],
  },
  {
    name: 'middle-maths',
    rate: 0.8,
    skills: [0.55, 0.45, 0.5, 0.85, 0.9, 0.6, 0.4, 0.4, 0.3, 0.5, 0.35, 0.4],
  },
  {
    name: 'large-general',
    rate: 2.5,
    skills: [0.8, 0.7, 0.85, 0.75, 0.9, 0.5, 0.82, 0.88, 0.88, 0.9, 0.8, 0.85],
  },
  {
    name: 'large-thinking',
    rate: 5,
    skills: [0.85, 0.85, 0.85, 0.88, 0.92, 0.75, 0.85, 0.85, 0.8, 0.88, 0.85, 0.85],
  },
] as const;

/** Generated data: latent tasks, models with a skill for each, and random difficulty and luck. */
export function synthetic(): DataSet {
  const random = randomOf(20_261_123);
  const rows = Array.from({ length: PROMPT_COUNT }, (_, at): PromptRow => {
    const index = Math.floor(random() * tasks.length);
    const chosenTask = tasks[index];
    if (chosenTask === undefined) throw new Error('no such task');
    const text = promptOf(chosenTask, random);
    const difficulty = 0.4 * (random() - 0.5);
    return {
      id: `synthetic-${at}`,
      category: chosenTask.category,
      features: featuresOf(text),
      scores: models.map(({ skills }) => (random() < (skills[index] ?? 0) - difficulty ? 1 : 0)),
      tokensOut: models.map(() => Math.round(60 + 300 * random())),
      text,
    };
  });
  return {
    name: 'synthetic',
    models: models.map(({ name }) => name),
    rates: models.map(({ rate }) => [rate, 4 * rate] as const),
    rows,
  };
}

function promptOf({ sentences, subjects }: SyntheticTask, random: () => number): string {
  const pick = (values: readonly string[]): string => values[Math.floor(random() * values.length)] ?? '';
  const count = 1 + Math.floor(random() * 3);
  return Array.from({ length: count }, () =>
    pick(sentences)
      .replace('$', pick(subjects))
      .replace('#', String(2 + Math.floor(random() * 90))),
  ).join(' ');
}
