"""Files of Word, PowerPoint and Excel (Office Open XML, ISO/IEC 29500) become HTML."""
