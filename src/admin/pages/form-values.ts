import { type Fault, fault, type Nano, parseUsd, validationFault } from '../../kernel';
import type { ChangeForm } from './admin.dto';

export const nanoOf = (dollars: string | null | undefined): Nano | null =>
  dollars === null || dollars === undefined ? null : parseUsd(dollars);

export const targetOf = (
  id: number,
  { version, reason }: ChangeForm,
): { id: number; version?: number; reason?: string } => ({
  id,
  ...(typeof version === 'number' ? { version } : {}),
  ...(reason === undefined ? {} : { reason }),
});

export const textOf = (text: string | null | undefined): string | null => {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? null : trimmed;
};

export const confirmationRequired = (name: string): Fault =>
  fault('conflict', {
    param: 'confirmation',
    message: `Type ${name} to confirm.`,
    details: { reason: 'confirm-name', name },
  });

/** Error for a field in which absent and empty differ. */
export const missingField = (name: string): Fault =>
  validationFault([{ loc: ['body', name], msg: `${name} is missing; null takes it away.`, type: 'missing' }]);
