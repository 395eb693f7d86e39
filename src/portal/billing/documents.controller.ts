import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, Query, Req, Res, StreamableFile, UsePipes } from '@nestjs/common';
import { BillingAccounts, Payments, type Statement, WalletHistory } from '../../billing';
import { day, fault, isUuid, oneOf, rowId } from '../../kernel';
import { Settings, Takes } from '../../platform';
import {
  Access,
  Csv,
  type CsvTable,
  Data,
  FormPipe,
  type HttpRequest,
  Page,
  PageRenderer,
  PathText,
} from '../../web';
import { type DocumentLocalisation, receiptPdf, statementPdf } from './documents';
import { presentStatement, statementColumns, statementLines } from './statement-lines';
import { readSpan, statementModel } from './statement-model';
import { type WalletParty, WalletParties } from './wallet-party';

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
  /** Those who may read its documents can name another wallet. */
  @Takes(rowId.optional())
  wallet?: number;
}

/** People read their receipts and statements here. */
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
  async statements(@Query() query: SpanQuery, @Req() request: HttpRequest) {
    const party = await this.parties.mover(request);
    const span = readSpan(query);
    const [statement, invoices] = await this.statementsOf(party.walletId, span.from, span.to);
    const isSandbox = this.settings.processor === 'sandbox';
    return statementModel({ statement, invoices }, span, { party, isSandbox }, this.localisationOf(request));
  }

  @Csv('/dashboard/billing/statements/export', Access.restingSession(), 'statement')
  async statementFile(@Query() query: FileQuery, @Req() request: HttpRequest): Promise<CsvTable> {
    const { walletId } = await this.parties.reader(request, query.wallet);
    const { from, to } = readSpan(query);
    const [statement, invoices] = await this.statementsOf(walletId, from, to);
    return { columns: statementColumns, rows: statementLines(statement, invoices) };
  }

  @Data('/api/billing/statement', Access.session())
  async statementData(@Query() query: FileQuery, @Req() request: HttpRequest) {
    const { walletId } = await this.parties.reader(request, query.wallet);
    const { from, to } = readSpan(query);
    const [statement, invoices] = await this.statementsOf(walletId, from, to);
    return presentStatement(statement, invoices);
  }

  @Get('/dashboard/billing/statements/pdf')
  @Access.restingSession()
  @Header('content-type', 'application/pdf')
  @UsePipes(FormPipe)
  async statement(
    @Query() query: FileQuery,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<StreamableFile> {
    const party = await this.parties.reader(request, query.wallet);
    const { from, to, first, last } = readSpan(query);
    const [statement, invoices] = await this.statementsOf(party.walletId, from, to);
    const pdf = await statementPdf(
      { statement, invoices },
      await this.addressee(party),
      this.localisationOf(request),
    );
    return fileOf(pdf, `statement_${first}_${last}.pdf`, response);
  }

  @Get('/dashboard/billing/receipts/:payment')
  @Access.restingSession()
  @Header('content-type', 'application/pdf')
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

  private statementsOf(walletId: number, from: Date, to: Date): Promise<[Statement, Statement | null]> {
    return Promise.all([
      this.history.statement(walletId, from, to),
      this.history.invoices(walletId, from, to),
    ]);
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

function fileOf(pdf: Buffer, name: string, response: ServerResponse): StreamableFile {
  response.setHeader('cache-control', 'no-store');
  return new StreamableFile(pdf, {
    disposition: `attachment; filename="${name}"`,
    length: pdf.length,
  });
}
