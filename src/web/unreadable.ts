import { type Fault, validationFault } from '../kernel';

/** Of a form that cannot be taken apart. */
export const unreadable = (message: string): Fault =>
  validationFault([{ loc: ['body'], msg: message, type: 'form' }], { message });
