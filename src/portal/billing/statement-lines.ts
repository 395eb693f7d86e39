import type { Statement, UsageShare } from '../../billing';
import { formatMultiplier, formatUsd, toJsonNumber } from '../../kernel';

export const statementColumns = ['line', 'at', 'name', 'detail', 'amount_usd', 'price_factor'];

/**
 * Returns the lines of a statement: those of the wallet and, if its payer is billed by invoice, those of the invoices.
 */
export function buildStatementLines(wallet: Statement, invoices: Statement | null): (readonly unknown[])[] {
  const rows =
    invoices === null ? accountLines(wallet, '') : [...accountLines(wallet, ''), ...owedLines(invoices)];
  return rows.map((row) => statementColumns.map((_, index) => row[index] ?? ''));
}

function accountLines(statement: Statement, prefix: '' | 'invoice_'): (readonly unknown[])[] {
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
    ...shareLines('member', byMember),
    ...shareLines('project', byProject),
    ...factors.map((factor) => [
      'price_factor',
      factor.from,
      factor.organisation,
      factor.to?.toISOString() ?? '',
      '',
      formatMultiplier(BigInt(factor.factor)),
    ]),
    ['closing', to, '', '', formatUsd(closing)],
  ].map(([line, ...rest]) => [`${prefix}${String(line)}`, ...rest]);
}

/** Adds the invoiced usage and the final amount owed to the lines of the account. */
const owedLines = (invoices: Statement): (readonly unknown[])[] => [
  ...accountLines(invoices, 'invoice_'),
  ['invoice_usage', '', '', invoices.requests, formatUsd(invoices.usage)],
  ['owed', invoices.to, '', '', formatUsd(-invoices.closing)],
];

const shareLines = (line: 'member' | 'project', shares: readonly UsageShare[]): (readonly unknown[])[] =>
  shares.map(({ name, requests, cost }) => [
    name === null ? `other_${line}s` : line,
    '',
    name ?? '',
    requests,
    formatUsd(-cost),
  ]);

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

/** A null name stands for all other shares combined. */
const presentShares = (shares: readonly UsageShare[]) =>
  shares.map(({ name, requests, cost }) => ({ name, requests, cost_usd: toJsonNumber(cost) }));
