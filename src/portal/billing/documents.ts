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
import { kindWords } from './ledger-model';
import { type PdfDocument, renderPdf } from './pdf';

export interface DocumentLocalisation {
  readonly locale: Locale;
  readonly translate: Translate;
  readonly brand: string;
  readonly font: string | undefined;
}

interface Addressee {
  readonly owner: WalletOwner;
  readonly invoice: InvoiceDetails;
}

/** Receipts bear the number of the payment, which is never given twice. */
const receiptNumber = ({ id }: Payment): string => `R-${id.padStart(8, '0')}`;

export function receiptPdf(
  payment: Payment,
  to: Addressee,
  localisation: DocumentLocalisation,
): Promise<Buffer> {
  const { locale, translate } = localisation;
  const money = (cents: bigint): string => formatMoney(locale, cents * nanoPerCent);
  const paidAt = formatTime(locale, 'UTC', payment.paidAt ?? payment.createdAt, 'full');
  const refund = [translate('billing.receipt.refunded'), money(payment.refundedCents)];
  return renderPdf({
    ...frameOf(translate('billing.receipt.heading'), to, localisation, !payment.live),
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

/** The figures are: owed before, used by invoice, come and gone beside it, and owed now. */
export const owedFigures = ({ opening, closing, usage }: Statement): readonly [string, bigint][] => [
  ['billing.statement.owed-before', -opening],
  ['billing.statement.invoiced', usage],
  ['billing.statement.paid', closing - opening + usage],
  ['billing.statement.owed', -closing],
];

export function statementPdf(
  { statement, invoices }: { readonly statement: Statement; readonly invoices: Statement | null },
  to: Addressee,
  localisation: DocumentLocalisation,
): Promise<Buffer> {
  const { locale, translate } = localisation;
  const money = (amount: bigint): string => formatMoney(locale, amount);
  const day = (at: Date): string => formatTime(locale, 'UTC', at, 'date');
  const lastDay = new Date(statement.to.getTime() - 1);
  const columns = [translate('billing.ledger.what'), translate('billing.ledger.amount')];
  const tablesOf = (of: Statement, about = '') => {
    const shares = (heading: string, rows: readonly UsageShare[]) => ({
      heading: `${about}${heading}`,
      columns,
      rows: rows.map(({ name, cost }) => [shareWords(name, translate), money(cost)]),
      total: [translate('list.total'), money(of.usage)],
    });
    return [
      {
        heading: `${about}${translate('billing.statement.postings')}`,
        columns: [translate('billing.payments.date'), ...columns],
        rows: [
          ...of.postings.map(({ at, kind, amount }) => [day(at), kindWords(kind, translate), money(amount)]),
          ...of.furtherPostings.map(({ kind, count, amount }) => [
            furtherWords(count, translate),
            kindWords(kind, translate),
            money(amount),
          ]),
        ],
      },
      {
        heading: translate('billing.statement.factors'),
        columns: [translate('billing.statement.factor-of'), translate('billing.statement.factor')],
        rows: of.factors.map((held) => [factorSpan(held, day, translate), factorText(held)]),
      },
      shares(translate('billing.statement.members'), of.byMember),
      shares(translate('billing.statement.projects'), of.byProject),
    ];
  };
  const owed = invoices === null ? [] : owedFigures(invoices);
  return renderPdf({
    ...frameOf(translate('billing.statement.heading'), to, localisation, statement.hasTestMoney),
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

/** The words name the user of a share; the others of a long list stand in one line. */
export const shareWords = (name: UsageShare['name'], translate: Translate): string =>
  name ?? translate('billing.statement.others');

/** It stands in place of a date where postings stand in one line. */
export const furtherWords = (count: number, translate: Translate): string =>
  translate('billing.statement.further', { count });

/** It reads like `× 1.125`. */
export const factorText = ({ factor }: FactorInForce): string => `× ${formatMultiplier(BigInt(factor))}`;

/** The words say whose factor it is, and when it held. */
export function factorSpan(
  { organisation, from, to }: FactorInForce,
  day: (at: Date) => string,
  translate: Translate,
): string {
  const end = to === null ? translate('billing.statement.factor-open') : day(to);
  return `${organisation}: ${day(from)} – ${end}`;
}

function frameOf(
  heading: string,
  { owner, invoice }: Addressee,
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
