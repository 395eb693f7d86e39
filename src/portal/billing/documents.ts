import type {
  FactorInForce,
  InvoiceDetails,
  Payment,
  Statement,
  UsageShare,
  WalletOwner,
} from '../../billing';
import { formatMultiplier, nanoPerCent } from '../../kernel';
import { formatMoney, formatTime, type Locale, type Translate } from '../../views';
import { kindLabel } from './ledger-model';
import { type PdfDocument, renderPdf } from './pdf';

export interface DocumentLocalisation {
  readonly locale: Locale;
  readonly translate: Translate;
  readonly brand: string;
  readonly font: string | undefined;
}

interface DocumentAddressee {
  readonly owner: WalletOwner;
  readonly invoice: InvoiceDetails;
}

/** Receipt numbers derive from the payment's id, which is never reused. */
const receiptNumber = ({ id }: Payment): string => `R-${id.padStart(8, '0')}`;

export function receiptPdf(
  payment: Payment,
  addressee: DocumentAddressee,
  localisation: DocumentLocalisation,
): Promise<Buffer> {
  const { locale, translate } = localisation;
  const money = (cents: bigint): string => formatMoney(locale, cents * nanoPerCent);
  const paidAt = formatTime(locale, 'UTC', payment.paidAt ?? payment.createdAt, 'full');
  const refund = [translate('billing.receipt.refunded'), money(payment.refundedCents)];
  return renderPdf({
    ...documentFrame(translate('billing.receipt.heading'), addressee, localisation, !payment.live),
    facts: [
      [translate('billing.receipt.number'), receiptNumber(payment)],
      [translate('billing.payments.date'), `${paidAt} UTC`],
      [translate('billing.receipt.payment'), payment.publicId],
      [translate('billing.payments.status'), translate(`billing.status.${payment.status}`)],
    ],
    tables: [
      {
        heading: translate('billing.receipt.amounts'),
        columns: [translate('billing.ledger.what'), translate('billing.ledger.amount')],
        rows: [
          [translate('pricing.credit'), money(payment.netCents)],
          [translate('pricing.fee'), money(payment.feeCents)],
        ],
        total: [translate('billing.receipt.charged'), money(payment.grossCents)],
        ...(payment.refundedCents > 0n ? { after: refund } : {}),
      },
    ],
  });
}

/** Invoice figures: owed before, invoiced usage, payments and adjustments, and owed now. */
export const owedFigures = ({ opening, closing, usage }: Statement): readonly [string, bigint][] => [
  ['billing.statement.owed-before', -opening],
  ['billing.statement.invoiced', usage],
  ['billing.statement.paid', closing - opening + usage],
  ['billing.statement.owed', -closing],
];

export function statementPdf(
  { statement, invoices }: { readonly statement: Statement; readonly invoices: Statement | null },
  addressee: DocumentAddressee,
  localisation: DocumentLocalisation,
): Promise<Buffer> {
  const { locale, translate } = localisation;
  const money = (amount: bigint): string => formatMoney(locale, amount);
  const day = (at: Date): string => formatTime(locale, 'UTC', at, 'date');
  const lastDay = new Date(statement.to.getTime() - 1);
  const columns = [translate('billing.ledger.what'), translate('billing.ledger.amount')];
  const tablesOf = (source: Statement, prefix = '') => {
    const shares = (heading: string, rows: readonly UsageShare[]) => ({
      heading: `${prefix}${heading}`,
      columns,
      rows: rows.map(({ name, cost }) => [shareLabel(name, translate), money(cost)]),
      total: [translate('list.total'), money(source.usage)],
    });
    return [
      {
        heading: `${prefix}${translate('billing.statement.postings')}`,
        columns: [translate('billing.payments.date'), ...columns],
        rows: [
          ...source.postings.map(({ at, kind, amount }) => [
            day(at),
            kindLabel(kind, translate),
            money(amount),
          ]),
          ...source.furtherPostings.map(({ kind, count, amount }) => [
            furtherLabel(count, translate),
            kindLabel(kind, translate),
            money(amount),
          ]),
        ],
      },
      {
        heading: translate('billing.statement.factors'),
        columns: [translate('billing.statement.factor-of'), translate('billing.statement.factor')],
        rows: source.factors.map((factor) => [factorSpan(factor, day, translate), factorText(factor)]),
      },
      shares(translate('billing.statement.members'), source.byMember),
      shares(translate('billing.statement.projects'), source.byProject),
    ];
  };
  const owed = invoices === null ? [] : owedFigures(invoices);
  return renderPdf({
    ...documentFrame(translate('billing.statement.heading'), addressee, localisation, statement.hasTestMoney),
    facts: [
      [translate('billing.statement.span'), `${day(statement.from)} – ${day(lastDay)} (UTC)`],
      [translate('billing.statement.opening'), money(statement.opening)],
      [translate('billing.kind.usage'), money(-statement.usage)],
      [translate('billing.statement.closing'), money(statement.closing)],
      ...owed.map(([key, amount]): [string, string] => [translate(key), money(amount)]),
    ],
    tables: [
      ...tablesOf(statement),
      ...(invoices === null ? [] : tablesOf(invoices, `${translate('people.invoice.heading')}: `)),
    ].filter(({ rows }) => rows.length > 0),
  });
}

/** Returns the user or project of a share; the remaining shares of a long list are combined. */
export const shareLabel = (name: UsageShare['name'], translate: Translate): string =>
  name ?? translate('billing.statement.others');

export const furtherLabel = (count: number, translate: Translate): string =>
  translate('billing.statement.further', { count });

/** Returns a text such as `× 1.125`. */
export const factorText = ({ factor }: FactorInForce): string => `× ${formatMultiplier(BigInt(factor))}`;

export function factorSpan(
  { organisation, from, to }: FactorInForce,
  day: (at: Date) => string,
  translate: Translate,
): string {
  const end = to === null ? translate('billing.statement.factor-open') : day(to);
  return `${organisation}: ${day(from)} – ${end}`;
}

function documentFrame(
  heading: string,
  { owner, invoice }: DocumentAddressee,
  { brand, translate, locale, font }: DocumentLocalisation,
  isTest: boolean,
): Pick<PdfDocument, 'heading' | 'brand' | 'to' | 'note' | 'language' | 'font'> {
  return {
    heading,
    brand,
    font,
    language: locale,
    to: [
      invoice.name ?? owner.name,
      ...(invoice.address?.split(/\r?\n/) ?? []),
      owner.email,
      ...(invoice.taxId === null ? [] : [`${translate('billing.invoice.tax_id')}: ${invoice.taxId}`]),
    ],
    note: isTest ? `${translate('billing.banner.test-title')} ${translate('billing.banner.test')}` : null,
  };
}
