import type { ServerResponse } from 'node:http';
import { Controller, Get, Query, Req, Res, StreamableFile, UsePipes } from '@nestjs/common';
import { BillingAccounts, Payments, type UsageShare, WalletHistory } from '../../billing';
import { day, fault, formatMultiplier, formatUsd, isUuid, oneOf, rowId } from '../../kernel';
import { Settings, Takes } from '../../platform';
import {
  Access,
  Csv,
  type CsvTable,
  FormPipe,
  type HttpRequest,
  Page,
  PageRenderer,
  PathText,
} from '../../web';
import { type DocumentLocalisation, receiptPdf, statementPdf } from './documents';
import { readSpan, statementModel } from './statement-model';
import { type WalletParty, WalletParties } from './wallet-party';

const statementColumns = ['line', 'at', 'name', 'detail', 'amount_usd', 'price_factor'];

class SpanQuery {
  @Takes(day.orBlank())
  from?: string;

  /** The last day, included. */
  @Takes(day.orBlank())
  to?: string;

  /** The reader's own wallet, while another one pays. */
  @Takes(oneOf(['1']).optional())
  own?: string;
}

class FileQuery extends SpanQuery {
  /** Another wallet, for those who may read its documents. */
  @Takes(rowId.optional())
  wallet?: number;
}

/** Receipts and statements. */
@Controller()
export class BillingDocumentsController {
  constructor(
    private readonly parties: WalletParties,
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly history: WalletHistory,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/billing/statements', 'pages/billing/statements', Access.session())
  async statements(@Query() query: SpanQuery, @Req() request: HttpRequest): Promise<object> {
    const party = await this.parties.mover(request);
    const span = readSpan(query);
    const statement = await this.history.statement(party.walletId, span.from, span.to);
    const isSandbox = this.settings.processor === 'sandbox';
    return statementModel(statement, span, { party, isSandbox }, this.localisationOf(request));
  }

  @Csv('/dashboard/billing/statements/export', Access.restingSession(), 'statement')
  async statementFile(@Query() query: FileQuery, @Req() request: HttpRequest): Promise<CsvTable> {
    const { walletId } = await this.parties.reader(request, query.wallet);
    const { from, to } = readSpan(query);
    const statement = await this.history.statement(walletId, from, to);
    const { opening, closing, postings, furtherPostings, byMember, byProject, factors } = statement;
    const rows: (readonly unknown[])[] = [
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
    ];
    return {
      columns: statementColumns,
      rows: rows.map((row) => statementColumns.map((_, place) => row[place] ?? '')),
    };
  }

  @Get('/dashboard/billing/statements/pdf')
  @Access.restingSession()
  @UsePipes(FormPipe)
  async statement(
    @Query() query: FileQuery,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const party = await this.parties.reader(request, query.wallet);
    const { from, to, first, last } = readSpan(query);
    const statement = await this.history.statement(party.walletId, from, to);
    const pdf = await statementPdf(statement, await this.addressee(party), this.localisationOf(request));
    return fileOf(pdf, `statement_${first}_${last}.pdf`, response);
  }

  @Get('/dashboard/billing/receipts/:payment')
  @Access.restingSession()
  async receipt(
    @PathText('payment') publicId: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const payment = isUuid(publicId) ? await this.payments.byPublicId(publicId) : null;
    const party = await this.parties.reader(request, payment?.walletId);
    if (payment?.state !== 'paid') throw fault('not_found');
    const pdf = await receiptPdf(payment, await this.addressee(party), this.localisationOf(request));
    return fileOf(pdf, `receipt_${payment.id}.pdf`, response);
  }

  private async addressee({ owner, walletId }: Pick<WalletParty, 'owner' | 'walletId'>) {
    return { owner, invoice: (await this.accounts.of(walletId)).invoice };
  }

  private localisationOf(request: HttpRequest): DocumentLocalisation {
    return {
      locale: this.pages.localeOf(request),
      translate: this.pages.textsFor(request),
      brand: this.settings.brandName,
      font: this.settings.documentFont,
    };
  }
}

const sharesOf = (line: 'member' | 'project', shares: readonly UsageShare[]): (readonly unknown[])[] =>
  shares.map(({ name, requests, cost }) => [
    name === null ? `other_${line}s` : line,
    '',
    name ?? '',
    requests,
    formatUsd(-cost),
  ]);

function fileOf(pdf: Buffer, name: string, response: ServerResponse): StreamableFile {
  response.setHeader('cache-control', 'no-store');
  return new StreamableFile(pdf, {
    type: 'application/pdf',
    disposition: `attachment; filename="${name}"`,
    length: pdf.length,
  });
}
