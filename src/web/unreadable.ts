import { type Fault, validationFault } from '../kernel';

export const unreadable = (message: string): Fault =>
  validationFault([{ loc: ['body'], msg: message, type: 'form' }], { message });
