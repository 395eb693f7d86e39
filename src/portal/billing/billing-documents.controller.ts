import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, Query, Req, Res, StreamableFile, UsePipes } from '@nestjs/common';
import { BillingAccounts, Payments, type Statement, WalletHistory } from '../../billing';
import { fault, isUuid } from '../../kernel';
import { Settings } from '../../platform';
import {
  Access,
  Csv,
  type CsvContent,
  Data,
  FormPipe,
  type HttpRequest,
  Page,
  PageRenderer,
  PathText,
} from '../../web';
import { type DocumentLocalisation, receiptPdf, statementPdf } from './documents';
import { presentStatement, statementColumns, buildStatementLines } from './statement-lines';
import { readSpan, statementModel } from './statement-model';
import { type WalletParty, WalletPartyService } from './wallet-party.service';
import { StatementSpanQuery, StatementFileQuery } from './billing-documents.dto';

@Controller()
export class BillingDocumentsController {
  constructor(
    private readonly parties: WalletPartyService,
    private readonly accounts: BillingAccounts,
    private readonly payments: Payments,
    private readonly history: WalletHistory,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/billing/statements', 'pages/billing/statements', Access.session())
  async statements(@Query() query: StatementSpanQuery, @Req() request: HttpRequest) {
    const party = await this.parties.requireMover(request);
    const span = readSpan(query);
    const [statement, invoices] = await this.loadStatements(party.walletId, span.from, span.to);
    const isSandbox = this.settings.processor === 'sandbox';
    return statementModel({ statement, invoices }, span, { party, isSandbox }, this.localisationOf(request));
  }

  @Csv('/dashboard/billing/statements/export', Access.restingSession(), 'statement')
  async statementFile(@Query() query: StatementFileQuery, @Req() request: HttpRequest): Promise<CsvContent> {
    const { walletId } = await this.parties.requireReader(request, query.wallet);
    const { from, to } = readSpan(query);
    const [statement, invoices] = await this.loadStatements(walletId, from, to);
    return { columns: statementColumns, rows: buildStatementLines(statement, invoices) };
  }

  @Data('/api/billing/statement', Access.session())
  async statementData(@Query() query: StatementFileQuery, @Req() request: HttpRequest) {
    const { walletId } = await this.parties.requireReader(request, query.wallet);
    const { from, to } = readSpan(query);
    const [statement, invoices] = await this.loadStatements(walletId, from, to);
    return presentStatement(statement, invoices);
  }

  @Get('/dashboard/billing/statements/pdf')
  @Access.restingSession()
  @Header('content-type', 'application/pdf')
  @UsePipes(FormPipe)
  async statement(
    @Query() query: StatementFileQuery,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const party = await this.parties.requireReader(request, query.wallet);
    const { from, to, first, last } = readSpan(query);
    const [statement, invoices] = await this.loadStatements(party.walletId, from, to);
    const pdf = await statementPdf(
      { statement, invoices },
      await this.addressee(party),
      this.localisationOf(request),
    );
    return toFile(pdf, `statement_${first}_${last}.pdf`, response);
  }

  @Get('/dashboard/billing/receipts/:payment')
  @Access.restingSession()
  @Header('content-type', 'application/pdf')
  async receipt(
    @PathText('payment') publicId: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const payment = isUuid(publicId) ? await this.payments.findByPublicId(publicId) : null;
    const party = await this.parties.requireReader(request, payment?.walletId);
    if (payment?.state !== 'paid') throw fault('not_found');
    const pdf = await receiptPdf(payment, await this.addressee(party), this.localisationOf(request));
    return toFile(pdf, `receipt_${payment.id}.pdf`, response);
  }

  private loadStatements(walletId: number, from: Date, to: Date): Promise<[Statement, Statement | null]> {
    return Promise.all([
      this.history.statement(walletId, from, to),
      this.history.invoices(walletId, from, to),
    ]);
  }

  private async addressee({ owner, walletId }: Pick<WalletParty, 'owner' | 'walletId'>) {
    return { owner, invoice: (await this.accounts.findOrCreate(walletId)).invoice };
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

function toFile(pdf: Buffer, name: string, response: ServerResponse): StreamableFile {
  response.setHeader('cache-control', 'no-store');
  return new StreamableFile(pdf, {
    disposition: `attachment; filename="${name}"`,
    length: pdf.length,
  });
}
