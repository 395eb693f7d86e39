import type { Statement, UsageShare } from '../../billing';
import { formatMultiplier, formatUsd, toJsonNumber } from '../../kernel';

export const statementColumns = ['line', 'at', 'name', 'detail', 'amount_usd', 'price_factor'];

/** The lines of a statement: of the wallet, and, where its payer is billed by invoice, of what is owed. */
export function statementLines(wallet: Statement, invoices: Statement | null): (readonly unknown[])[] {
  const rows = invoices === null ? linesOf(wallet, '') : [...linesOf(wallet, ''), ...owedLines(invoices)];
  return rows.map((row) => statementColumns.map((_, place) => row[place] ?? ''));
}

function linesOf(statement: Statement, prefix: '' | 'invoice_'): (readonly unknown[])[] {
  const { from, to, opening, closing, postings, furtherPostings, byMember, byProject, factors } = statement;
  return [
    ['opening', from, '', '', formatUsd(opening)],
    ...postings.map(({ at, kind, ref, amount }) => ['posting', at, kind, ref, formatUsd(amount)]),
    ...furtherPostings.map(({ kind, count, amount }) => [
      'further_postings',
      '',
      kind,
      count,
      formatUsd(amount),
    ]),
    ...sharesOf('member', byMember),
    ...sharesOf('project', byProject),
    ...factors.map((held) => [
      'price_factor',
      held.from,
      held.organisation,
      held.to?.toISOString() ?? '',
      '',
      formatMultiplier(BigInt(held.factor)),
    ]),
    ['closing', to, '', '', formatUsd(closing)],
  ].map(([line, ...rest]) => [`${prefix}${String(line)}`, ...rest]);
}

/** As the wallet's, with what was used and what is owed at the end in figures of their own. */
const owedLines = (invoices: Statement): (readonly unknown[])[] => [
  ...linesOf(invoices, 'invoice_'),
  ['invoice_usage', '', '', invoices.requests, formatUsd(invoices.usage)],
  ['owed', invoices.to, '', '', formatUsd(-invoices.closing)],
];

const sharesOf = (line: 'member' | 'project', shares: readonly UsageShare[]): (readonly unknown[])[] =>
  shares.map(({ name, requests, cost }) => [
    name === null ? `other_${line}s` : line,
    '',
    name ?? '',
    requests,
    formatUsd(-cost),
  ]);

/** Programs read it like this. */
export const presentStatement = (wallet: Statement, invoices: Statement | null) => ({
  from: wallet.from.toISOString(),
  to: wallet.to.toISOString(),
  wallet: presentAccount(wallet),
  invoices:
    invoices === null
      ? null
      : {
          owed_before_usd: toJsonNumber(-invoices.opening),
          usage_usd: toJsonNumber(invoices.usage),
          owed_usd: toJsonNumber(-invoices.closing),
          ...presentAccount(invoices),
        },
});

const presentAccount = (statement: Statement) => ({
  opening_usd: toJsonNumber(statement.opening),
  closing_usd: toJsonNumber(statement.closing),
  used_usd: toJsonNumber(statement.usage),
  requests: statement.requests,
  postings: statement.postings.map(({ at, kind, ref, amount }) => ({
    at: at.toISOString(),
    kind,
    reference: ref,
    amount_usd: toJsonNumber(amount),
  })),
  further_postings: statement.furtherPostings.map(({ kind, count, amount }) => ({
    kind,
    count,
    amount_usd: toJsonNumber(amount),
  })),
  by_member: presentShares(statement.byMember),
  by_project: presentShares(statement.byProject),
  price_factors: statement.factors.map(({ organisation, factor, from, to }) => ({
    organisation,
    factor: formatMultiplier(BigInt(factor)),
    from: from.toISOString(),
    to: to?.toISOString() ?? null,
  })),
});

/** A name of null stands for all others together. */
const presentShares = (shares: readonly UsageShare[]) =>
  shares.map(({ name, requests, cost }) => ({ name, requests, cost_usd: toJsonNumber(cost) }));
