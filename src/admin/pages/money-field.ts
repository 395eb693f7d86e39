import { formatUsd, type Nano } from '../../kernel';
import type { FieldModel, Translate } from '../../views';

export const moneyField = (
  name: string,
  key: string,
  amount: Nano | undefined,
  translate: Translate,
): FieldModel => ({
  id: name,
  name,
  label: `${translate(key)} (USD)`,
  inputMode: 'decimal',
  autocomplete: 'off',
  help: translate('administration.empty-no-limit'),
  ...(amount === undefined ? {} : { value: formatUsd(amount) }),
});
