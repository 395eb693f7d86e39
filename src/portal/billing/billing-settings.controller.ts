import { Body, Controller, Req } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { ActivityLog, changesOf } from '../../audit';
import { BillingAccounts } from '../../billing';
import { filled, nanoPerCent } from '../../kernel';
import { Database, IsOptional, Matches, MaxLength, Takes } from '../../platform';
import { Access, Action, done, type Done, type HttpRequest } from '../../web';
import { centsField, centsWithin } from './amount-field';
import { concernsOf, overviewOf, WalletParties } from './wallet-party';

const trimmed = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.trim() : value;

class InvoiceForm {
  @Takes(filled(200).orBlank())
  name?: string;

  /** It has several lines. */
  @IsOptional()
  @Transform(trimmed)
  @Matches(/^[^\p{Cc}]*(\r?\n[^\p{Cc}]*){0,5}$/u, 'up to 6 lines without control characters')
  @MaxLength(600)
  address?: string;

  @IsOptional()
  @Transform(trimmed)
  @Matches(/^[\w .:/-]*$/, 'letters, digits, spaces and . : / _ -')
  @MaxLength(40)
  tax_id?: string;
}

/** It is as much as nine digits say. */
const MOST_LOW_BALANCE_CENTS = 99_999_999_999n;

class LowBalanceForm {
  @Takes(centsWithin(0n, MOST_LOW_BALANCE_CENTS))
  low_balance?: unknown;
}

/** The settings say what stands on invoices, and below which balance a mail is sent. */
@Controller()
export class BillingSettingsController {
  constructor(
    private readonly parties: WalletParties,
    private readonly accounts: BillingAccounts,
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/billing/invoice-details', Access.session(), {
    audit: 'billing.invoice-details-changed',
  })
  async invoice(@Body() form: InvoiceForm, @Req() request: HttpRequest): Promise<Done> {
    const party = await this.parties.mover(request);
    const details = { name: form.name || null, address: form.address || null, taxId: form.tax_id || null };
    await this.database.transaction(async (tx) => {
      const { invoice } = await this.accounts.locked(tx, party.walletId);
      await this.accounts.setInvoice(tx, party.walletId, details);
      await this.activity.write(tx, {
        action: 'billing.invoice-details-changed',
        object: { type: 'setting', id: party.walletId },
        concerns: concernsOf(party),
        changes: changesOf(invoice, details),
      });
    });
    return this.saved(request);
  }

  @Action('/dashboard/billing/low-balance', Access.session(), { audit: 'billing.low-balance-changed' })
  async lowBalance(@Body() _form: LowBalanceForm, @Req() request: HttpRequest): Promise<Done> {
    const party = await this.parties.mover(request);
    const limit = centsField(request, 'low_balance') * nanoPerCent;
    await this.database.transaction(async (tx) => {
      const { lowBalance } = await this.accounts.locked(tx, party.walletId);
      await this.accounts.setLowBalance(tx, party.walletId, limit);
      await this.activity.write(tx, {
        action: 'billing.low-balance-changed',
        object: { type: 'setting', id: party.walletId },
        concerns: concernsOf(party),
        changes: changesOf({ lowBalance }, { lowBalance: limit }),
      });
    });
    return this.saved(request);
  }

  private saved(request: HttpRequest): Done {
    return done(overviewOf(request), { ok: true }, 'billing.saved');
  }
}
