import { ParsedBy } from '../../web';
import { topUpAmount } from './amount-field';

export class CheckoutForm {
  @ParsedBy(topUpAmount)
  amount?: unknown;
}
