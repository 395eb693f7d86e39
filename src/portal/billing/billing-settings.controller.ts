import { Body, Controller, Req } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { BillingAccounts } from '../../billing';
import { nanoPerCent } from '../../kernel';
import { Database } from '../../platform';
import { Access, Action, done, type ActionResult, type HttpRequest } from '../../web';
import { centsField } from './amount-field';
import { concernsOf, overviewHref, WalletPartyService } from './wallet-party.service';
import { InvoiceForm, LowBalanceForm } from './billing-settings.dto';

@Controller()
export class BillingSettingsController {
  constructor(
    private readonly parties: WalletPartyService,
    private readonly accounts: BillingAccounts,
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/billing/invoice-details', Access.session(), {
    audit: 'billing.invoice-details-changed',
  })
  async invoice(@Body() form: InvoiceForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const party = await this.parties.requireMover(request);
    const details = { name: form.name || null, address: form.address || null, taxId: form.tax_id || null };
    await this.database.transaction(async (tx) => {
      const { invoice } = await this.accounts.lock(tx, party.walletId);
      await this.accounts.setInvoice(tx, party.walletId, details);
      await this.activity.write(tx, {
        action: 'billing.invoice-details-changed',
        object: { type: 'setting', id: party.walletId },
        concerns: concernsOf(party),
        changes: changesOf(invoice, details),
      });
    });
    return this.savedResult(request);
  }

  @Action('/dashboard/billing/low-balance', Access.session(), { audit: 'billing.low-balance-changed' })
  async lowBalance(@Body() _form: LowBalanceForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const party = await this.parties.requireMover(request);
    const limit = centsField(request, 'low_balance') * nanoPerCent;
    await this.database.transaction(async (tx) => {
      const { lowBalance } = await this.accounts.lock(tx, party.walletId);
      await this.accounts.setLowBalance(tx, party.walletId, limit);
      await this.activity.write(tx, {
        action: 'billing.low-balance-changed',
        object: { type: 'setting', id: party.walletId },
        concerns: concernsOf(party),
        changes: changesOf({ lowBalance }, { lowBalance: limit }),
      });
    });
    return this.savedResult(request);
  }

  private savedResult(request: HttpRequest): ActionResult {
    return done(overviewHref(request), { ok: true }, 'billing.saved');
  }
}
