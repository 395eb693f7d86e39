import { type Fault, validationFault } from '../kernel';

/** The form cannot be taken apart. */
export const unreadable = (message: string): Fault =>
  validationFault([{ loc: ['body'], msg: message, type: 'form' }], { message });
