export { BodyEdits, jsonBody, withoutListMark } from './body';
export { type ContractFixtures, describeSupplierContract } from './contract';
export { encodeForm } from './form';
export { type PictureMaker, picturesOf } from './picture-rules';
export { judgeAnswer, redactedError } from './judge';
export { KnownFields, knownFields, limitFields, nestedFields, serviceFields } from './known-fields';
export { type OperationName, operationNames, OPERATIONS, probeIn, type WireDialect } from './operations';
export { authorisation, endpoint, passing, prepared } from './request';
export { CallSecrets } from './secrets';
export { isSteering, steeringFields } from './steering';
export type {
  FormFile,
  Operations,
  OutgoingBody,
  OutgoingCall,
  ListCall,
  PictureRule,
  PreparedCall,
  SupplierStyle,
  Unframer,
} from './style';
